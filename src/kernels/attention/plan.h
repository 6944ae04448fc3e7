// Attention, scores and values in one kernel.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/args.h"
#include "kernels/kernel.h"
#include "kernels/run_sizes.h"

namespace hone {

// out[b,s,h,:] = sum over keys t of w[t] v[b,t,h',:], w = softmax(scores), scores = cap(scale · q[b,s,h,:]·k[b,t,h',:])
// + mask, h' = h / (heads / kv_heads), cap(x) = softcap · tanh(x / softcap); q [B,S,heads*head_dim], k
// [B,T,kv_heads*head_dim], v [B,T,kv_heads*value_dim], out [B,S,heads*value_dim]. Query s stands at key p = s +
// first_position and sees the keys from p - before up to p + behind; where `sinks`, exp(sinks[h]) joins softmax's sum.
// With a page table, k and v are pages, [pages, page_rows, …], and key t of batch b is row t % page_rows of page
// table[b, t / page_rows].
//   items     parts of the batches, heads and queries, as the device has them
struct AttentionPlan {
  enum class Mask : uint8_t { none, added, chosen };  // chosen: boolean, keys that are seen
  int heads = 1, kv_heads = 1, head_dim = 64, value_dim = 64;
  DType dtype = DType::f32;        // of q, k, v: f32 or bf16
  std::string k_format, v_format;  // where they are codes (head_rows), which are read as f32; else empty
  DType result = DType::f32;
  int64_t page_rows = 0;  // 0: no pages
  DType table = DType::i64;
  Mask mask = Mask::none;
  bool limited = false;  // some query may not see all keys, by its position
  bool sinks = false;
  bool blind_is_zero = false;  // a query that sees no key gives 0, else NaN
  float scale = 1, softcap = 0;
  static constexpr auto fields() {
    using P = AttentionPlan;
    return std::tuple(field("heads", &P::heads), field("kv_heads", &P::kv_heads), field("head_dim", &P::head_dim),
                      field("value_dim", &P::value_dim), field("dtype", &P::dtype), field("k_format", &P::k_format),
                      field("v_format", &P::v_format), field("result", &P::result), field("page_rows", &P::page_rows),
                      field("table", &P::table), field("mask", &P::mask), field("limited", &P::limited),
                      field("sinks", &P::sinks), field("blind_is_zero", &P::blind_is_zero), field("scale", &P::scale),
                      field("softcap", &P::softcap));
  }
  bool is_packed() const { return !k_format.empty() || !v_format.empty(); }
  static const KernelDef& kernel();
};

inline constexpr int64_t kSeesAll = int64_t{1} << 40;  // `before` and `behind` without a limit: beyond every length

// Pointers but q, k, v and out may be null.
struct AttentionArgs {
  void *q = nullptr, *k = nullptr, *v = nullptr, *mask = nullptr, *out = nullptr, *sinks = nullptr;
  void* shared = nullptr;  // memory that a device's steps share, of which a class has one
  void *k_scales = nullptr, *k_zero_points = nullptr, *v_scales = nullptr, *v_zero_points = nullptr;
  void* table = nullptr;
  int64_t batches = 0, queries = 0, keys = 0;            // B, S, T
  int64_t q_row = 0, k_row = 0, v_row = 0, out_row = 0;  // row strides, in elements
  std::array<int64_t, 3> mask_strides{};                 // for b, h, s: elements, 0 = broadcast; t is contiguous
  int64_t first_position = 0, before = 0, behind = 0;    // of query 0; keys seen before a query's own, and behind
  int64_t sequence_pages = 0, k_pages = 0, v_pages = 0;  // pages of a sequence; of k and v
  static constexpr auto places() {
    using A = AttentionArgs;
    return std::tuple(&A::q, &A::k, &A::v, &A::mask, &A::out, &A::sinks, &A::shared, &A::k_scales, &A::k_zero_points,
                      &A::v_scales, &A::v_zero_points, &A::table, &A::batches, &A::queries, &A::keys, &A::q_row,
                      &A::k_row, &A::v_row, &A::out_row, &A::mask_strides, &A::first_position, &A::before, &A::behind,
                      SizesFrom{19}, &A::sequence_pages, &A::k_pages, &A::v_pages);
  }
};

// What attention and its gradients read: a plan, and sizes that both have but for the strides of rows.
struct AttentionOperands {
  AttentionPlan plan;
  Extent batches, queries, keys;
  std::array<Extent, 3> mask_strides{};
  bool from_start = false;
  int64_t before = kSeesAll, behind = kSeesAll;
  template <class Args>
  void write(const RunSizes& sizes, Args& args) const {
    args.batches = sizes.of(batches), args.queries = sizes.of(queries), args.keys = sizes.of(keys);
    for (size_t i = 0; i < mask_strides.size(); ++i) args.mask_strides[i] = sizes.of(mask_strides[i]);
    args.first_position = from_start ? 0 : args.keys - args.queries;
    args.before = before, args.behind = behind;
  }
};
Support read_attention(const Lowering& lowering, const Node& node, ValueId mask, AttentionOperands& read);

Support lower_attention(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
