#include "jobs/plan_speed.h"

#include <fmt/ranges.h>

namespace hone {
namespace {

Interval placements_interval(const Timing& timing) {
  std::vector<double> medians;
  for (size_t begin = 0; const size_t end : timing.placement_ends) {
    medians.push_back(median(std::span(timing.samples_ns).subspan(begin, end - begin)) * 1e-6);
    begin = end;
  }
  return median_interval(medians);
}

std::string shape_of(const NamedTensors& inputs) {
  std::vector<std::string> texts;
  for (const auto& [name, tensor] : inputs) texts.push_back(fmt::format("{}: {}", name, to_string(tensor.type())));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

bool PlanSpeed::meets(const Budget& budget) const {
  return (budget.is_relative ? share_ci95.high : plan_ms_ci95.high) <= budget.value;
}

std::string PlanSpeed::text(const Budget& budget) const {
  if (budget.is_relative)
    return fmt::format("takes {:.3f} ({:.3f}-{:.3f}) of the original's time", share, share_ci95.low, share_ci95.high);
  return fmt::format("takes {:.3f} ms ({:.3f}-{:.3f})", plan_ms, plan_ms_ci95.low, plan_ms_ci95.high);
}

PlanSpeed measure_plan(const Model& original, const std::string& plan_file, CandidateOptions open, double seconds) {
  open.session.compute.reset();  // of each as it is stored
  std::vector<Candidate> both = open_candidates(std::vector{original, load_model(plan_file)}, open);
  const std::vector<Timing> timings = time_in_turn(both, open, seconds);
  const Ratio ratio = speed_ratio(timings[0], timings[1]);
  return {.original_ms = timings[0].p50 * 1e-6,
          .plan_ms = timings[1].p50 * 1e-6,
          .original_ms_ci95 = placements_interval(timings[0]),
          .plan_ms_ci95 = placements_interval(timings[1]),
          .share = 1 / ratio.value,
          .share_ci95 = {1 / ratio.ci95.high, 1 / ratio.ci95.low},
          .rounds = ratio.rounds,
          .shape = shape_of(both[0].inputs),
          .original_compute = both[0].session->compute(),
          .plan_compute = both[1].session->compute()};
}

}  // namespace hone
