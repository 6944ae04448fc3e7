// Attention, scores and values in one kernel.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/run_sizes.h"

namespace hone {

// out[b,s,h,:] = sum over keys t of w[t] v[b,t,h',:], w = softmax(scores), scores = cap(scale · q[b,s,h,:]·k[b,t,h',:])
// + mask, h' = h / (heads / kv_heads), cap(x) = softcap · tanh(x / softcap); q [B,S,heads*head_dim], k
// [B,T,kv_heads*head_dim], v [B,T,kv_heads*value_dim], out [B,S,heads*value_dim]. Query s stands at key p = s +
// dims[10] and sees the keys from p - dims[11] up to p + dims[12]; where `sinks`, exp(sinks[h]) joins softmax's sum.
// Where `splits`, which a device decides, items of few queries are ranges of keys: what they sum goes to shared memory,
// where the plan of the task `join` makes results of it, of the same arguments.
//   pointers  [0] q, [1] k, [2] v, [3] mask or null, [4] out, [5] sinks or null, [6] shared or null,
//             [7] [8] scales and zero points of k, or null, [9] [10] those of v, [11] page table or null: then k and v
//             are pages, [pages, page_rows, …], and key t of batch b is row t % page_rows of page table[b, t /
//             page_rows]
//   dims      [0] B, [1] S, [2] T, [3] row stride of q, [4] of k, [5] of v, [6] of out (elements),
//             [7] [8] [9] mask strides for b, h, s (elements, 0 = broadcast; t is contiguous),
//             [10] position of query 0, [11] keys seen before a query's own, [12] and behind it;
//             which launch() writes: [13] [14] heads and queries of an item, [15] whether keys are read in rows, [16]
//             rows of a head in a strip (AttentionItems), [17] ranges of keys, [18] keys of each;
//             [19] pages of a sequence, [20] [21] pages of k and v
//   items     B * kv_heads * blocks of heads * blocks of queries * ranges of keys; join: without ranges of keys
struct AttentionPlan {
  enum class Task : uint8_t { attend, join } task = Task::attend;
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
  bool splits = false;         // lengths may be such that keys are split
  bool blind_is_zero = false;  // a query that sees no key gives 0, else NaN
  float scale = 1, softcap = 0;
  static constexpr auto fields() {
    using P = AttentionPlan;
    return std::tuple(field("task", &P::task), field("heads", &P::heads), field("kv_heads", &P::kv_heads),
                      field("head_dim", &P::head_dim), field("value_dim", &P::value_dim), field("dtype", &P::dtype),
                      field("k_format", &P::k_format), field("v_format", &P::v_format), field("result", &P::result),
                      field("page_rows", &P::page_rows), field("table", &P::table), field("mask", &P::mask),
                      field("limited", &P::limited), field("sinks", &P::sinks), field("splits", &P::splits),
                      field("blind_is_zero", &P::blind_is_zero), field("scale", &P::scale),
                      field("softcap", &P::softcap));
  }
  bool is_packed() const { return !k_format.empty() || !v_format.empty(); }
  static const KernelDef& kernel();
};

inline constexpr int64_t kSeesAll = int64_t{1} << 40;  // dims[11] and [12] without a limit: beyond every length

// What attention and its gradients read: a plan, and dims as above but for the strides of rows.
struct AttentionOperands {
  AttentionPlan plan;
  Extent batches, queries, keys;
  std::array<Extent, 3> mask_strides{};
  bool from_start = false;
  int64_t before = kSeesAll, behind = kSeesAll;
  void write(const RunSizes& sizes, KernelDims& dims) const;
};
Support read_attention(const Lowering& lowering, const Node& node, ValueId mask, AttentionOperands& read);

Support lower_attention(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
