#include "jobs/probe_rounds.h"

#include <cmath>

#include "base/clock.h"
#include "jobs/scratch_folder.h"
#include "measure/turns.h"

namespace hone {
namespace {

ProbeResult probe_with(const std::string& program, ProbeOptions probe, const ScratchFolder& cache) {
  probe.session.cache_folder = cache.path();
  return probe_in_new_process(program, probe);
}

template <class T>
Cell median_of(const std::vector<ProbeResult>& results, T ProbeResult::*field) {
  if (results.empty()) return {};
  std::vector<double> values;
  for (const ProbeResult& r : results) values.push_back(static_cast<double>(r.*field));
  const Interval ci95 = median_interval(values);
  return std::isfinite(ci95.low) ? number(median(values), ci95) : number(median(values));
}

}  // namespace

std::vector<ProbeRounds> probe_in_turn(std::span<const ProbeOptions> models, const ProbeRoundsOptions& options) {
  std::vector<ProbeRounds> all(models.size());
  const int64_t start = steady_ns();
  for (const ProbeOptions& model : models) probe_with(options.program, model, ScratchFolder());
  Turns turns(models.size(), options.seed);
  for (int round = 0; round < options.rounds; ++round) {
    if (round >= kFewestProbes && static_cast<double>(steady_ns() - start) * 1e-9 >= options.seconds) break;
    tell(options.progress, fmt::format("compile times and memory, in fresh processes: round {}", round + 1));
    for (size_t i : turns.next()) {
      const ScratchFolder cache;
      all[i].cold.push_back(probe_with(options.program, models[i], cache));
      all[i].warm.push_back(probe_with(options.program, models[i], cache));
    }
  }
  return all;
}

Cell median_cell(const std::vector<ProbeResult>& results, double ProbeResult::*field) {
  return median_of(results, field);
}
Cell median_cell(const std::vector<ProbeResult>& results, int64_t ProbeResult::*field) {
  return median_of(results, field);
}

}  // namespace hone
