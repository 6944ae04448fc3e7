// Gradients of attention.
#pragma once

#include <cstdint>

#include "kernels/attention/plan.h"

namespace hone {

// With the weights P = softmax(scale · q·kᵀ + mask) of each head, computed again, and the gradient d of P·v: dv = Pᵀ·d,
// dk = Dᵀ·q and dq = D·k, D = scale · P ∘ (d·vᵀ - its mean over the keys by P). Heads that share keys add to the same
// dk and dv. All is f32.
//   pointers  [0] q, [1] k, [2] v, [3] d, [4] mask or null, [5] dq, [6] dk, [7] dv, each null where it is not wanted
//   dims      [0] B, [1] S, [2] T, [3] row stride of q, [4] of k, [5] of v, [6] of d (elements), [7] [8] [9] mask
//   strides
//             for b, h, s (elements, 0 = broadcast; t is contiguous), [10] position of query 0, [12] keys seen behind a
//             query's own. Results are dense
//   items     B * kv_heads
struct AttentionGradientPlan {
  AttentionPlan attention;
  int64_t max_length = 0;  // bound of T, of a device whose scratch or code is made for one; 0: none
  static constexpr auto fields() {
    return std::tuple(field("attention", &AttentionGradientPlan::attention),
                      field("max_length", &AttentionGradientPlan::max_length));
  }
  static const KernelDef& kernel();
};

Support lower_attention_gradient(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
