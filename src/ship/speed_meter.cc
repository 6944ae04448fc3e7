#include "ship/speed_meter.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "measure/ratio.h"

namespace hone {

SpeedMeter::SpeedMeter(const Model& original, const CandidateOptions& options)
    : options_(options), original_(open_candidates(std::vector{original}, options)) {
  const int64_t start = steady_ns();
  original_[0].session->run(original_[0].inputs);
  original_ms_ = static_cast<double>(steady_ns() - start) * 1e-6;
}

Speed SpeedMeter::measure(const Graph& changed, double seconds) {
  Model model = original_[0].model;
  model.graph = changed;
  std::vector<Candidate> other = open_candidates(std::vector{std::move(model)}, options_);
  Candidate &before = original_[0], &after = other[0];
  const std::vector<TimedCall> calls{{"original", [&] { before.session->run(before.inputs); }},
                                     {"candidate", [&] { after.session->run(after.inputs); }}};
  const std::vector<Timing> timings = interleave(calls, {.target = 0.02,
                                                         .min_rounds = kFewestForInterval,
                                                         .max_rounds = 200,
                                                         .max_seconds = seconds,
                                                         .max_warmup_seconds = seconds / 2,
                                                         .seed = options_.seed});
  const Ratio ratio = speed_ratio(timings[0], timings[1]);
  const auto in_ms = [](Interval ns) { return Interval{ns.low * 1e-6, ns.high * 1e-6}; };
  const bool is_known = std::isfinite(ratio.ci95.low) && ratio.ci95.low > 0;  // of too few rounds there is no interval
  return {.ms = timings[1].p50 * 1e-6,
          .original_ms = timings[0].p50 * 1e-6,
          .ms_ci95 = in_ms(timings[1].median_ci95),
          .share = 1 / ratio.value,
          .share_ci95 = is_known ? Interval{1 / ratio.ci95.high, 1 / ratio.ci95.low} : Interval{0, INFINITY}};
}

}  // namespace hone
