#include "jobs/predicted_speed.h"

#include <algorithm>

#include "base/multiples.h"

namespace hone {
namespace {

// Of the peak that a kind of kernel reaches: best and worst seen over the models of bench/predicted_speed.py.
// Winograd's algorithm exceeds the peak in terms of the products it saves.
struct Efficiency {
  double best = 1, worst = 1;
};

// The share of a tile that is not wasted on what N lacks to whole vectors.
double used(int64_t n) { return static_cast<double>(n) / static_cast<double>(round_up(n, 16)); }

struct EfficiencyOf {
  Efficiency operator()(const GemmPlan& plan) const { return {0.98, 0.6 * used(plan.n)}; }
  Efficiency operator()(const ConvPlan& plan) const {
    switch (plan.method) {
      case ConvPlan::Method::direct:
        return {0.98, 0.6 * used(plan.product.n)};
      case ConvPlan::Method::winograd2:
        return {1.9, 1.0 * used(plan.product.n)};
      case ConvPlan::Method::winograd4:
        return {3.3, 1.2 * used(plan.product.n)};
    }
    return {};
  }
  Efficiency operator()(const WindowPlan&) const { return {0.95, 0.2}; }
  Efficiency operator()(const AttentionPlan&) const { return {0.75, 0.3}; }
  Efficiency operator()(const auto&) const { return {0.9, 0.05}; }
};

bool multiplies_bf16(const KernelPlan& plan) {
  if (const auto* gemm = std::get_if<GemmPlan>(&plan)) return gemm->a == DType::bf16;
  if (const auto* conv = std::get_if<ConvPlan>(&plan)) return conv->product.a == DType::bf16;
  return false;
}

constexpr double kDispatchUs = 0.05, kSlowDispatchUs = 1;
// The interpreter works in double, element by element.
constexpr double kInterpretedNsPerByte = 0.3, kSlowInterpretedNsPerByte = 4, kInterpretedNsPerFlop = 0.3,
                 kSlowInterpretedNsPerFlop = 3;

}  // namespace

PredictedSpeed predict_speed(const Graph& graph, const LoweredGraph& lowered, const MachinePeaks& peaks) {
  double weights = 0, all_bytes = 0;
  for (const Step& step : lowered.steps) {
    all_bytes += step.bytes;
    for (ValueId v : step.reads)
      if (const Tensor* constant = graph.constant(v)) weights += static_cast<double>(constant->bytes());
  }
  PredictedSpeed total;
  for (const Step& step : lowered.steps) {
    if (!step.plan) {
      total.low_ms += 1e-6 * (step.bytes * kInterpretedNsPerByte + step.flops * kInterpretedNsPerFlop);
      total.high_ms += 1e-6 * (step.bytes * kSlowInterpretedNsPerByte + step.flops * kSlowInterpretedNsPerFlop);
      continue;
    }
    const Efficiency share = std::visit(EfficiencyOf(), *step.plan);
    const bool bf16 = multiplies_bf16(*step.plan) && peaks.bf16_gflops > 0;
    const double gflops = bf16 ? peaks.bf16_gflops : peaks.f32_gflops;
    // At best a step's bytes come from the smallest cache that holds them, at worst from where all of a run's lie.
    const double nearest = peaks.read_gbytes(step.bytes),
                 farthest = peaks.read_gbytes(std::max(weights, all_bytes / 4));
    total.low_ms +=
        std::max({step.flops / (gflops * share.best), step.bytes / nearest * 0.5}) * 1e-6 + kDispatchUs * 1e-3;
    total.high_ms += (step.flops / (gflops * share.worst) + step.bytes / std::min(nearest, farthest) * 1.5) * 1e-6 +
                     kSlowDispatchUs * 1e-3;
  }
  return total;
}

}  // namespace hone
