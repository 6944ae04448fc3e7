// Gradients of attention.
#pragma once

#include <cstdint>

#include "kernels/attention/plan.h"

namespace hone {

// With the weights P = softmax(scale · q·kᵀ + mask) of each head, computed again, and the gradient d of P·v: dv = Pᵀ·d,
// dk = Dᵀ·q and dq = D·k, D = scale · P ∘ (d·vᵀ - its mean over the keys by P). Heads that share keys add to the same
// dk and dv. All is f32.
// Results are dense. Items are B * kv_heads.
struct AttentionGradientPlan {
  AttentionPlan attention;
  static constexpr auto fields() { return std::tuple(field("attention", &AttentionGradientPlan::attention)); }
  static const KernelDef& kernel();
};

struct AttentionGradientArgs {
  void *q = nullptr, *k = nullptr, *v = nullptr, *d = nullptr;
  void* mask = nullptr;                                // or null
  void *dq = nullptr, *dk = nullptr, *dv = nullptr;    // each null where it is not wanted
  int64_t batches = 0, queries = 0, keys = 0;          // B, S, T
  std::array<int64_t, 4> row_strides{};                // of q, k, v, d, in elements
  std::array<int64_t, 3> mask_strides{};               // for b, h, s: elements, 0 = broadcast; t is contiguous
  int64_t first_position = 0, before = 0, behind = 0;  // as AttentionArgs has them
  static constexpr auto places() {
    using A = AttentionGradientArgs;
    return std::tuple(&A::q, &A::k, &A::v, &A::d, &A::mask, &A::dq, &A::dk, &A::dv, &A::batches, &A::queries, &A::keys,
                      &A::row_strides, &A::mask_strides, &A::first_position, &A::before, &A::behind);
  }
};

Support lower_attention_gradient(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
