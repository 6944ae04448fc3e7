// Attention as the operators of several domains have in common. Letters of shapes: B batches, H heads of queries, G of
// keys and values, S queries, T keys, D columns of a head of keys, E of one of values.
#pragma once

#include "io/onnx/onnx_family.h"

namespace hone {

ValueId split_heads(const OnnxNode& n, ValueId x, int64_t heads);  // [B,L,H*D] → [B,H,L,D]
ValueId merge_heads(const OnnxNode& n, ValueId x);                 // [B,H,L,D] → [B,L,H*D]

// Keys or values: those of the call behind those of earlier ones.
struct Cached {
  ValueId rows;     // [B,T,G*D]
  ValueId present;  // [B,G,T,D]
};
Cached cached(const OnnxNode& n, ValueId x, ValueId past, int64_t heads);  // x: [B,L,G*D] or [B,G,L,D]

struct AttentionCall {
  ValueId q, k, v;  // [B,S,H*D], [B,T,G*D], [B,T,G*E]
  int64_t heads, kv_heads;
  std::optional<double> scale;  // of q·k; 1 / sqrt(D) when absent
  double softcap = 0;           // scores x become softcap * tanh(x / softcap); 0: they stay
  ValueId bias = kNone;         // added to the scores, broadcast to [B,H,S,T]
  bool causal = false;          // query s sees the keys up to s + T - S
  // As those of the op `attention`.
  bool from_start = false, blind_is_zero = false;
  std::optional<int64_t> before = {}, behind = {};
  ValueId sinks = kNone;
};
ValueId attended(const OnnxNode& n, const AttentionCall& call);  // [B,S,H*E], of q's element type
ValueId capped(const OnnxNode& n, ValueId scores, double softcap);

// 0 where `visible` is true, `hidden` elsewhere.
ValueId bias_of(const OnnxNode& n, ValueId visible, double hidden);
ValueId sum_of_biases(const OnnxNode& n, ValueId a, ValueId b);  // either may be kNone

// i64 [count]: first, first + 1, ...
ValueId positions(const OnnxNode& n, const Dim& first, const Dim& count);

// x [..., D] with pairs of its first `columns` columns turned by angles whose cosines and sines broadcast to
// [..., columns/2]. A pair is columns i and i + columns/2, or 2i and 2i + 1 where `interleaved`.
ValueId rotated(const OnnxNode& n, ValueId x, ValueId cos, ValueId sin, const Dim& columns, bool interleaved);

}  // namespace hone
