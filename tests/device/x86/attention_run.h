// An attention's plan with operands and its kernel's result.
#pragma once

#include <vector>

#include "base/float_bits.h"
#include "device/x86/attention/shape.h"
#include "tests/device/x86/gemm_run.h"

namespace hone::test {

struct AttentionCase {
  int64_t batches = 1, queries = 1, keys = 1;
  int heads = 1, kv_heads = 1, head_dim = 8;
  DType dtype = DType::f32, result = DType::f32;
  bool causal = false;
  std::vector<int64_t> mask_shape = {};  // [B or 1, H or 1, S or 1, T]; empty: none
  float masked = -1e9f;                  // what a masked key's score gets
};

struct AttentionInputs {
  Tensor q, k, v, mask;
};

inline AttentionInputs random_inputs(const AttentionCase& c, Philox& rng) {
  AttentionInputs in{random_tensor(c.dtype, {c.batches, c.queries, c.heads * c.head_dim}, rng),
                     random_tensor(c.dtype, {c.batches, c.keys, c.kv_heads * c.head_dim}, rng),
                     random_tensor(c.dtype, {c.batches, c.keys, c.kv_heads * c.head_dim}, rng),
                     {}};
  if (c.mask_shape.empty()) return in;
  std::vector<float> mask(static_cast<size_t>(element_count(c.mask_shape)));
  for (size_t i = 0; i < mask.size(); ++i)
    mask[i] = i % static_cast<size_t>(c.keys) && rng.below(3) == 0 ? c.masked : rng.normal();
  in.mask = Tensor::from_floats(DType::f32, c.mask_shape, mask);
  return in;
}

inline std::vector<int64_t> mask_strides(const AttentionCase& c) {
  if (c.mask_shape.empty()) return {0, 0, 0};
  const int64_t t = c.keys, s = t * c.mask_shape[2], h = s * c.mask_shape[1];
  return {c.mask_shape[0] == 1 ? 0 : h, c.mask_shape[1] == 1 ? 0 : s, c.mask_shape[2] == 1 ? 0 : t};
}

inline X86AttentionPlan plan_of(const AttentionCase& c) {
  return {{.heads = c.heads,
           .kv_heads = c.kv_heads,
           .head_dim = c.head_dim,
           .value_dim = c.head_dim,
           .dtype = c.dtype,
           .result = c.result,
           .mask = c.mask_shape.empty() ? AttentionPlan::Mask::none : AttentionPlan::Mask::added,
           .limited = c.causal,
           .scale = 0.3f},
          X86AttentionPlan::Task::attend,
          /*splits=*/true};
}

inline std::vector<float> run(const AttentionCase& c, const AttentionInputs& in, const X86Target& target, int64_t chunk,
                              bool& intact) {
  const X86AttentionPlan plan = plan_of(c);
  const int64_t q_row = c.heads * c.head_dim, kv_row = c.kv_heads * c.head_dim;
  Guarded out(static_cast<size_t>(c.batches * c.queries * q_row * size_bytes(c.result)));
  const auto bytes = [](const Tensor& t) { return const_cast<std::byte*>(t.data().bytes().data()); };
  const std::vector<int64_t> strides = mask_strides(c);
  AttentionArgs args{.q = bytes(in.q),
                     .k = bytes(in.k),
                     .v = bytes(in.v),
                     .mask = c.mask_shape.empty() ? nullptr : bytes(in.mask),
                     .out = out.data(),
                     .batches = c.batches,
                     .queries = c.queries,
                     .keys = c.keys,
                     .q_row = q_row,
                     .k_row = kv_row,
                     .v_row = kv_row,
                     .out_row = q_row,
                     .mask_strides = {strides[0], strides[1], strides[2]},
                     .first_position = c.keys - c.queries,
                     .before = kSeesAll,
                     .behind = c.causal ? 0 : kSeesAll};
  Guarded shared(static_cast<size_t>(attention_shared_bytes(plan, attention_shape(plan, target), args)), 0);
  args.shared = shared.data();
  X86AttentionPlan join = plan;
  join.task = X86AttentionPlan::Task::join;
  CompiledPlan(plan, target).run(args, chunk);
  CompiledPlan(join, target).run(args, chunk);
  intact = out.intact() && shared.intact();
  if (c.result == DType::f32) return {out.as<float>().begin(), out.as<float>().end()};
  std::vector<float> values;
  for (uint16_t bits : out.as<uint16_t>()) values.push_back(bf16_to_f32(bits));
  return values;
}

}  // namespace hone::test
