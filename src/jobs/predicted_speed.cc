#include "jobs/predicted_speed.h"

#include <algorithm>

#include "runtime/host_step.h"

namespace hone {
namespace {

constexpr double kDispatchUs = 0.05, kSlowDispatchUs = 1;
// The interpreter works in double, element by element.
constexpr double kInterpretedNsPerByte = 0.3, kSlowInterpretedNsPerByte = 4, kInterpretedNsPerFlop = 0.3,
                 kSlowInterpretedNsPerFlop = 3;

}  // namespace

PredictedSpeed predict_speed(const Graph& graph, const LoweredGraph& lowered, const LowerOptions& options,
                             const MachinePeaks& peaks) {
  const RunSizes sizes(graph);
  double weights = 0, all_bytes = 0;
  std::vector<StepWork> works;
  for (const Step& step : lowered.steps) {
    works.push_back(work_of(graph, step));
    works.back().bytes += static_cast<double>(copied_bytes(*options.device, graph, lowered, works.size() - 1, sizes));
    all_bytes += works.back().bytes;
    for (ValueId v : step->reads)
      if (const Tensor* constant = graph.constant(v)) weights += static_cast<double>(constant->bytes());
  }
  PredictedSpeed total;
  for (size_t s = 0; s < lowered.steps.size(); ++s) {
    const Step& step = lowered.steps[s];
    const StepWork& work = works[s];
    if (!step.plan) {
      total.low_ms += 1e-6 * (work.bytes * kInterpretedNsPerByte + work.flops * kInterpretedNsPerFlop);
      total.high_ms += 1e-6 * (work.bytes * kSlowInterpretedNsPerByte + work.flops * kSlowInterpretedNsPerFlop);
      continue;
    }
    const KernelSpeed share = speed(options.device_of(step), *step.plan);
    const double gflops = peaks.gflops(share.unit);
    // At best a step's bytes come from the smallest cache that holds them, at worst from where all of a run's lie.
    const double nearest = peaks.read_gbytes(work.bytes),
                 farthest = peaks.read_gbytes(std::max(weights, all_bytes / 4));
    total.low_ms +=
        std::max({work.flops / (gflops * share.best), work.bytes / nearest * 0.5}) * 1e-6 + kDispatchUs * 1e-3;
    total.high_ms += (work.flops / (gflops * share.worst) + work.bytes / std::min(nearest, farthest) * 1.5) * 1e-6 +
                     kSlowDispatchUs * 1e-3;
  }
  return total;
}

}  // namespace hone
