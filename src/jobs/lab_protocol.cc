#include "jobs/lab_protocol.h"

#include "base/clock.h"
#include "measure/turns.h"

namespace hone {
namespace {

constexpr int kRepetitions = 10;

void run_once(const Candidate& c, double steady, const CandidateOptions& options, LabRuns& runs) {
  SessionOptions uncached = options.session;
  uncached.cache_folder.reset();
  uncached.model_code = false;  // it would not compile
  Graph graph = c.model.graph;
  const int64_t start = steady_ns();
  Session session(std::move(graph), std::move(uncached));
  session.run(c.inputs);
  const int64_t first = steady_ns();
  for (int i = 1; i < kLabRuns; ++i) session.run(c.inputs);
  const int64_t end = steady_ns();
  const SessionStatistics& s = session.statistics();
  RunCost cost{.compile = (s.prepare_milliseconds + s.specialise_milliseconds + s.compile_milliseconds) * 1e-3,
               .prepack = s.prepack_milliseconds * 1e-3,
               .steady = steady};
  cost.first = static_cast<double>(first - start) * 1e-9 - cost.compile - cost.prepack;
  runs.set_ups.push_back(cost);
  runs.means_ns.push_back(static_cast<double>(end - start) / kLabRuns);
}

}  // namespace

std::vector<LabRuns> run_lab_protocol(const std::vector<Candidate>& candidates, const std::vector<Timing>& timings,
                                      const CandidateOptions& options, double seconds) {
  std::vector<LabRuns> all(candidates.size());
  const auto steady = [&](size_t i) { return timings[i].p50 * 1e-9; };
  LabRuns uncounted;
  for (size_t i = 0; i < candidates.size(); ++i) run_once(candidates[i], steady(i), options, uncounted);
  Turns turns(candidates.size(), options.seed);
  const int64_t start = steady_ns();
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    if (repetition >= kFewestForInterval && static_cast<double>(steady_ns() - start) * 1e-9 >= seconds) break;
    for (size_t i : turns.next()) run_once(candidates[i], steady(i), options, all[i]);
  }
  return all;
}

}  // namespace hone
