#include "device/x86/reduce_window/prepack.h"

#include "base/error.h"
#include "base/multiples.h"
#include "device/x86/gemm/prepack.h"

namespace hone {

// Whole vectors of any level can be loaded.
int64_t window_weight_pitch(int64_t channels) { return round_up(channels, 16); }

X86GemmPlan window_weights(const ReduceWindowPlan& plan) {
  X86GemmPlan weights;
  weights.n = plan.channels, weights.k = plan.plane.taps(), weights.w_format = plan.w_format;
  return weights;
}

std::string prepack_key(const ReduceWindowPlan& plan, const X86Target& target) {
  if (!plan.w_format.empty()) return "window " + prepack_key(window_weights(plan), target);
  return fmt::format("window {} taps of {}{}", plan.plane.taps(), plan.channels, plan.has_x_zero ? " and sums" : "");
}

int64_t prepacked_bytes(const ReduceWindowPlan& plan, const X86Target& target) {
  if (!plan.w_format.empty()) return prepacked_bytes(window_weights(plan), target);
  return (plan.plane.taps() + plan.has_x_zero) * window_weight_pitch(plan.channels) * 4;
}

void prepack(const ReduceWindowPlan& plan, const X86Target& target, const Tensor& weights, int threads,
             std::byte* out) {
  if (!plan.w_format.empty()) return prepack(window_weights(plan), target, weights, threads, out);
  const std::vector<float> source = weights.to_floats();
  const int64_t taps = plan.plane.taps(), pitch = window_weight_pitch(plan.channels);
  CHECK(weights.elements() == plan.channels * taps, "weights of {}, plan of {} channels and {} taps",
        to_string(weights.type()), plan.channels, taps);
  auto* to = reinterpret_cast<float*>(out);
  for (int64_t c = 0; c < plan.channels; ++c)
    for (int64_t tap = 0; tap < taps; ++tap) {
      const float weight = source[static_cast<size_t>(c * taps + tap)];
      to[tap * pitch + c] = weight;
      if (plan.has_x_zero) to[taps * pitch + c] = weight + (tap > 0 ? to[taps * pitch + c] : 0);
    }
}

}  // namespace hone
