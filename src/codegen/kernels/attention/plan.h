// Attention, scores and values in one kernel.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/kernel.h"
#include "codegen/run_sizes.h"

namespace hone {

// out[b,s,h,:] = softmax(scale · q[b,s,h,:]·k[b,t,h',:] + mask) · v, h' = h / (heads / kv_heads); q, k, v, out are [B,
// S or T, heads*head_dim].
//   pointers  [0] q, [1] k, [2] v, [3] mask or null, [4] out
//   dims      [0] B, [1] S, [2] T, [3] row stride of q, [4] of k, [5] of v, [6] of out (elements),
//             [7] [8] [9] mask strides for b, h, s (elements, 0 = broadcast; t is contiguous)
//   items     B * heads * ceil(S / rows_per_item); see attention_items()
struct AttentionPlan {
  int heads = 1, kv_heads = 1, head_dim = 64;
  DType dtype = DType::f32;  // of q, k, v: f32 or bf16
  DType result = DType::f32;
  bool has_mask = false, causal = false;
  float scale = 1;
  int64_t max_length = 0;  // bound of T: sizes the scratch
  static constexpr auto fields() {
    return std::tuple(field("heads", &AttentionPlan::heads), field("kv_heads", &AttentionPlan::kv_heads),
                      field("head_dim", &AttentionPlan::head_dim), field("dtype", &AttentionPlan::dtype),
                      field("result", &AttentionPlan::result), field("has_mask", &AttentionPlan::has_mask),
                      field("causal", &AttentionPlan::causal), field("scale", &AttentionPlan::scale),
                      field("max_length", &AttentionPlan::max_length));
  }
  static const KernelDef& kernel();
};

// What attention and its gradients read: a plan but for max_length, and dims as above but for the strides of rows.
struct AttentionOperands {
  AttentionPlan plan;
  Extent batches, queries, keys;
  std::array<Extent, 3> mask_strides{};
  void write(const RunSizes& sizes, KernelDims& dims) const;
};
Support read_attention(const Lowering& lowering, const Node& node, ValueId mask, AttentionOperands& read);
int64_t length_bound(int64_t keys);  // lengths of one range share a kernel

Support lower_attention(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
