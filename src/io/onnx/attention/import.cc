// Attention of com.microsoft, MultiHeadAttention, GroupQueryAttention; RotaryEmbedding, also of the standard.
#include <cmath>
#include <limits>

#include "io/onnx/attention/attention.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/comparison.h"
#include "ops/calls/concat.h"
#include "ops/calls/gather.h"
#include "ops/calls/gather_nd.h"
#include "ops/calls/matmul.h"
#include "ops/calls/range.h"
#include "ops/calls/reshape.h"
#include "ops/calls/shape_of.h"
#include "ops/calls/slice.h"
#include "ops/calls/split.h"

namespace hone {
namespace {

constexpr const char* kMicrosoft = "com.microsoft";
constexpr double kInfinity = std::numeric_limits<double>::infinity();

int64_t known_size(const OnnxNode& n, const Dim& dim, const char* what) {
  if (!dim.is_constant()) n.unsupported(fmt::format("{} that are known only when the model runs", what));
  return dim.constant();
}

// --- Masks of com.microsoft ------------------------------------------------------------------------------------------

// Which of T keys each of B rows sees, as bool that broadcasts to [B,H,S,T]. Of one dimension: how many keys (B of
// them), or where they end and then where they start (2B). Else 0 hides a key: [B,T] or [B,S,T].
ValueId visible_keys(const OnnxNode& n, ValueId mask, const Dim& batch, const Dim& keys) {
  const Shape shape = n.shape(mask);
  switch (shape.size()) {
    case 1: {
      const ValueId bounds = n.cast(mask, DType::i64), columns = positions(n, 0, keys);
      if (shape[0] == batch) return ops::less(n, {columns, n.reshape(bounds, {batch, 1, 1, 1})});
      if (shape[0] != 2 * batch) break;
      const std::vector<ValueId> ends =
          ops::split(n, {.x = n.reshape(bounds, {2 * batch, 1, 1, 1}), .axis = 0, .sizes = Shape{batch, batch}});
      return ops::logical_and(n, {ops::less(n, {columns, ends[0]}), ops::greater_or_equal(n, {columns, ends[1]})});
    }
    case 2:
      return n.cast(n.reshape(mask, {shape[0], 1, 1, shape[1]}), DType::boolean);
    case 3:
      return n.cast(n.reshape(mask, {shape[0], 1, shape[1], shape[2]}), DType::boolean);
  }
  n.unsupported(fmt::format("a mask {}; supported for a batch of {}: [{}], [{}], [batch,keys], [batch,queries,keys]",
                            to_string(shape), batch.to_string(), batch.to_string(), (2 * batch).to_string()));
}

ValueId padding_bias(const OnnxNode& n, ValueId mask, const Dim& batch, const Dim& keys) {
  if (mask == kNone) return kNone;
  return bias_of(n, visible_keys(n, mask, batch, keys), n.number("mask_filter_value", -10000));
}

// --- Attention, MultiHeadAttention -----------------------------------------------------------------------------------

std::vector<ValueId> parts(const OnnxNode& n, ValueId x, int64_t axis, Shape sizes) {
  return ops::split(n, {.x = x, .axis = axis, .sizes = std::move(sizes)});
}

// One of two that lie in x [2,...].
ValueId half_of(const OnnxNode& n, ValueId x, size_t which) {
  if (x == kNone) return kNone;
  const Shape shape = n.shape(x, 5);
  return n.reshape(parts(n, x, 0, {1, 1})[which], {shape.begin() + 1, shape.end()});
}

std::vector<ValueId> import_microsoft_attention(OnnxNode& n) {
  if (n.is_one("do_rotary", false)) n.unsupported("do_rotary 1; supported: 0");
  if (n.has(6)) n.unsupported("past_sequence_length: a buffer that past and present share");
  const ValueId x = n.in(0), weights = n.in(1);
  const Dim batch = n.shape(x, 3)[0];
  ValueId projected = n.cast(ops::matmul(n, {x, weights}), n.type(x).dtype);
  if (n.has(2)) projected = ops::add(n, {projected, n.in(2)});
  const Dim third = floordiv(n.shape(weights, 2)[1], 3);
  const Shape sizes = n.has_attribute("qkv_hidden_sizes") ? n.sizes("qkv_hidden_sizes") : Shape{third, third, third};
  if (sizes.size() != 3) fail("qkv_hidden_sizes has {} values; expected 3", sizes.size());
  const std::vector<ValueId> qkv = parts(n, projected, 2, sizes);
  const int64_t heads = n.count("num_heads");
  const ValueId past = n.in_or_none(4);
  const Cached k = cached(n, qkv[1], half_of(n, past, 0), heads), v = cached(n, qkv[2], half_of(n, past, 1), heads);
  const Dim keys = n.shape(k.rows, 3)[1];
  AttentionCall call{.q = qkv[0], .k = k.rows, .v = v.rows, .heads = heads, .kv_heads = heads, .scale = {}};
  if (n.number("scale", 0) != 0) call.scale = n.number("scale");
  call.bias = sum_of_biases(n, padding_bias(n, n.in_or_none(3), batch, keys), n.in_or_none(5));
  call.causal = n.is_one("unidirectional", false);
  const ValueId y = attended(n, call);
  if (!n.wants(1)) return {y};
  const auto alone = [&](ValueId cache) { return ops::unsqueeze(n, {.x = cache, .axes = std::vector<int64_t>{0}}); };
  return {y, ops::concat(n, {.inputs = {alone(k.present), alone(v.present)}, .axis = 0})};
}

// [B,L,H,count,D] as `count` tensors [B,L,H*D].
std::vector<ValueId> unpacked(const OnnxNode& n, ValueId x, int64_t count) {
  const Shape shape = n.shape(x, 5);
  if (const int64_t found = known_size(n, shape[3], "packed tensors"); found != count)
    fail("{} tensors are packed into %{}; expected {}", found, n.graph().value(x).name, count);
  std::vector<ValueId> each = parts(n, x, 3, Shape(static_cast<size_t>(count), 1));
  for (ValueId& part : each) part = n.reshape(part, {shape[0], shape[1], shape[2] * shape[4]});
  return each;
}

// Queries, keys and values as [B,L,H*D]; keys and values may also be [B,H,L,D].
std::vector<ValueId> projections(const OnnxNode& n) {
  if (n.rank(n.in(0)) == 5) return unpacked(n, n.in(0), 3);
  if (n.rank(n.in(1)) != 5) return {n.in(0), n.in(1), n.in(2)};
  const std::vector<ValueId> kv = unpacked(n, n.in(1), 2);
  return {n.in(0), kv[0], kv[1]};
}

void add_bias(const OnnxNode& n, ValueId bias, std::vector<ValueId>& qkv) {
  if (bias == kNone) return;
  Shape sizes;
  for (ValueId x : qkv) {
    if (n.rank(x) != 3) n.unsupported("a bias beside keys [batch,heads,keys,columns]");
    sizes.push_back(n.shape(x, 3)[2]);
  }
  const std::vector<ValueId> biases = parts(n, bias, 0, sizes);
  for (size_t i = 0; i < qkv.size(); ++i) qkv[i] = ops::add(n, {qkv[i], biases[i]});
}

std::vector<ValueId> import_multi_head_attention(OnnxNode& n) {
  if (n.has(8)) n.unsupported("past_sequence_length: a buffer that past and present share");
  if (n.wants(3)) n.unsupported("output qk");
  std::vector<ValueId> qkv = projections(n);
  add_bias(n, n.in_or_none(3), qkv);
  const int64_t heads = n.count("num_heads");
  const Cached k = cached(n, qkv[1], n.in_or_none(6), heads), v = cached(n, qkv[2], n.in_or_none(7), heads);
  AttentionCall call{.q = qkv[0], .k = k.rows, .v = v.rows, .heads = heads, .kv_heads = heads, .scale = {}};
  if (n.number("scale", 0) != 0) call.scale = n.number("scale");
  const Dim batch = n.shape(call.q, 3)[0], keys = n.shape(k.rows, 3)[1];
  call.bias = sum_of_biases(n, padding_bias(n, n.in_or_none(4), batch, keys), n.in_or_none(5));
  call.causal = n.is_one("unidirectional", false);
  return {attended(n, call), k.present, v.present};
}

// --- GroupQueryAttention ---------------------------------------------------------------------------------------------

// One dimension of x as an i64 scalar.
ValueId size_along(const OnnxNode& n, ValueId x, int64_t axis) {
  const ValueId shape = ops::shape_of(n, {x});
  return n.reshape(ops::slice(n, {.x = shape, .starts = Shape{axis}, .ends = Shape{axis + 1}}), {});
}

ValueId integer(const OnnxNode& n, int64_t value) { return n.constant(Tensor::scalar<int64_t>(value)); }

// Where the tokens of each row stand. A row b of the cache is full up to past[b]; its new tokens come after.
struct Tokens {
  ValueId past;     // [B,1]; kNone when there is no cache
  ValueId columns;  // positions of keys: i64[T]
  ValueId rows;     // of queries: [B,S], [1,S] without a cache
};

// Without keys of its own, the number of keys is that of the longest row, or that of a cache that is longer.
ValueId key_positions(const OnnxNode& n, ValueId past, ValueId total) {
  const std::optional<Shape> known = n.dims(total);
  const Dim room = n.shape(past, 4)[2];
  if (known && known->size() <= 1) {
    const Dim& keys = known->empty() ? Dim(0) : known->front();
    if (keys.is_constant() && room.is_constant()) return positions(n, 0, std::max(keys.constant(), room.constant()));
  }
  const ValueId longest = n.reshape(n.cast(total, DType::i64), {});
  return ops::range(
      n, {.start = integer(n, 0), .limit = ops::max(n, {size_along(n, past, 2), longest}), .step = integer(n, 1)});
}

Tokens tokens_of(const OnnxNode& n, ValueId q, ValueId past) {
  const Shape shape = n.shape(q, 3);
  const Dim batch = shape[0], queries = shape[1];
  const ValueId steps = n.reshape(positions(n, 0, queries), {1, queries});
  if (past == kNone) return {kNone, positions(n, 0, queries), steps};
  const ValueId last = n.reshape(n.cast(n.in(5), DType::i64), {batch, 1});
  const ValueId filled = ops::sub(n, {ops::add(n, {last, integer(n, 1)}), size_along(n, q, 1)});
  const ValueId before = ops::max(n, {filled, integer(n, 0)});
  return {before, key_positions(n, past, n.in(6)), ops::add(n, {before, steps})};
}

// Keys or values with the new ones where the old ones of their row end.
Cached placed(const OnnxNode& n, ValueId x, ValueId past, int64_t heads, const Tokens& tokens) {
  if (past == kNone) return cached(n, x, kNone, heads);
  const ValueId room = size_along(n, past, 2);
  const ValueId all = n.transpose(cached(n, x, past, heads).present, {0, 2, 1, 3});  // [B,P+S,G,D]
  const ValueId moved = ops::add(n, {ops::sub(n, {tokens.columns, tokens.past}), room});
  const ValueId end = ops::sub(n, {size_along(n, all, 1), integer(n, 1)});
  const ValueId is_old = ops::less(n, {tokens.columns, tokens.past});
  const ValueId from =
      ops::where(n, {.condition = is_old, .a = tokens.columns, .b = ops::min(n, {moved, end})});  // [B,T]
  const ValueId index = ops::unsqueeze(n, {.x = from, .axes = std::vector<int64_t>{2}});
  const ValueId rows = ops::gather_nd(n, {.x = all, .indices = index, .batch_dims = 1});
  const ValueId present = n.transpose(rows, {0, 2, 1, 3});
  return {merge_heads(n, present), present};
}

// Query s of a row sees the keys up to its own position: all of them, or the last `window` where that is positive.
ValueId window_bias(const OnnxNode& n, const Tokens& tokens, int64_t window) {
  const Shape shape = n.shape(tokens.rows, 2);
  const ValueId rows = n.reshape(tokens.rows, {shape[0], 1, shape[1], 1});
  ValueId visible = ops::less_or_equal(n, {tokens.columns, rows});
  if (window > 0) {
    const ValueId first = ops::sub(n, {rows, integer(n, window - 1)});
    visible = ops::logical_and(n, {visible, ops::greater_or_equal(n, {tokens.columns, first})});
  }
  return bias_of(n, visible, -kInfinity);
}

// x [B,S,H*D], turned by the tables' rows at these positions [B,S].
ValueId rotated_heads(const OnnxNode& n, ValueId x, int64_t heads, ValueId at, ValueId cos_table, ValueId sin_table,
                      bool interleaved) {
  const Shape shape = n.shape(x, 3);
  const Dim columns = 2 * n.shape(cos_table, 2)[1];
  const auto angles = [&](ValueId table) {
    return ops::unsqueeze(n, {.x = ops::gather(n, {.table = table, .indices = at}), .axes = std::vector<int64_t>{2}});
  };
  const ValueId split = n.reshape(x, {shape[0], shape[1], heads, floordiv(shape[2], heads)});
  return n.reshape(rotated(n, split, angles(cos_table), angles(sin_table), columns, interleaved), shape);
}

std::vector<ValueId> import_group_query_attention(OnnxNode& n) {
  if (n.wants(3)) n.unsupported("output qk");
  for (const char* name : {"k_quant_type", "v_quant_type"})
    if (n.text(name, "NONE") != "NONE") n.unsupported(fmt::format("{} {}; supported: NONE", name, n.text(name)));
  const int64_t heads = n.count("num_heads"), kv_heads = n.count("kv_num_heads");
  std::vector<ValueId> qkv{n.in(0), n.in_or_none(1), n.has(1) ? n.in(2) : kNone};
  const Dim width = n.shape(qkv[0], 3)[2];
  if (qkv[1] == kNone) {
    const Dim head = floordiv(width, heads + 2 * kv_heads);
    qkv = parts(n, qkv[0], 2, {head * heads, head * kv_heads, head * kv_heads});
  }
  const ValueId past = n.in_or_none(3);
  const Tokens tokens = tokens_of(n, qkv[0], past);
  if (n.is_one("do_rotary", false)) {
    const bool interleaved = n.is_one("rotary_interleaved", false);
    const ValueId at = n.has(9) ? n.in(9) : tokens.rows;
    qkv[0] = rotated_heads(n, qkv[0], heads, at, n.in(7), n.in(8), interleaved);
    qkv[1] = rotated_heads(n, qkv[1], kv_heads, at, n.in(7), n.in(8), interleaved);
  }
  const Cached k = placed(n, qkv[1], past, kv_heads, tokens), v = placed(n, qkv[2], n.in_or_none(4), kv_heads, tokens);
  AttentionCall call{.q = qkv[0],
                     .k = k.rows,
                     .v = v.rows,
                     .heads = heads,
                     .kv_heads = kv_heads,
                     .scale = {},
                     .softcap = n.number("softcap", 0)};
  if (n.number("scale", 0) != 0) call.scale = n.number("scale");
  const int64_t window = n.integer("local_window_size", -1);
  call.causal = past == kNone;
  if (call.causal && window > 0) call.before = window - 1;
  if (!call.causal) call.bias = window_bias(n, tokens, window);
  if (n.has(11)) call.sinks = n.cast(n.in(11), DType::f32);
  else if (n.is_one("smooth_softmax", false))
    call.sinks = n.constant(Tensor(DType::f32, {heads}));  // one more score of 0
  call.bias = sum_of_biases(n, call.bias, n.in_or_none(10));
  return {attended(n, call), k.present, v.present};
}

// --- RotaryEmbedding -------------------------------------------------------------------------------------------------

// x [B,S,H*D] or [B,H,S,D]; cos and sin [B or 1,S,columns/2].
ValueId rotated_sequence(const OnnxNode& n, ValueId x, int64_t heads, ValueId cos, ValueId sin, int64_t columns) {
  const bool merged = n.rank(x) == 3;
  const Shape shape = n.shape(x, merged ? 3 : 4);
  if (merged && heads < 1) fail("the number of heads is {}; expected 1 or more", heads);
  const auto per_head = [&](ValueId angles) {
    return ops::unsqueeze(n, {.x = angles, .axes = std::vector<int64_t>{merged ? 2 : 1}});
  };
  const ValueId split = merged ? n.reshape(x, {shape[0], shape[1], heads, floordiv(shape[2], heads)}) : x;
  const Dim width = columns == 0 ? n.shape(split, 4)[3] : Dim(columns);
  const bool interleaved = n.is_one("interleaved", false);
  return n.reshape(rotated(n, split, per_head(cos), per_head(sin), width, interleaved), shape);
}

std::vector<ValueId> import_rotary_embedding(OnnxNode& n) {
  ValueId cos = n.in(1), sin = n.in(2);
  if (n.has(3)) {
    cos = ops::gather(n, {.table = cos, .indices = n.in(3)});
    sin = ops::gather(n, {.table = sin, .indices = n.in(3)});
  }
  const int64_t heads = n.rank(n.in(0)) == 3 ? n.count("num_heads") : 0;
  return {rotated_sequence(n, n.in(0), heads, cos, sin, n.integer("rotary_embedding_dim", 0))};
}

// Its tables always have a row for each position; one position for all is that of the first token.
std::vector<ValueId> import_microsoft_rotary_embedding(OnnxNode& n) {
  if (n.number("scale", 1) != 1) n.unsupported(fmt::format("scale {}; supported: 1", n.number("scale")));
  const ValueId x = n.in(0), cos = n.in(2), sin = n.in(3);
  const bool merged = n.rank(x) == 3;
  const Shape shape = n.shape(x, merged ? 3 : 4);
  const Dim queries = shape[merged ? 1 : 2], half = n.shape(cos, 2)[1];
  if (half == Dim(0)) fail("the table of cosines has no columns");
  ValueId at = n.cast(n.in(1), DType::i64);
  if (n.rank(at) == 1) at = n.reshape(ops::add(n, {positions(n, 0, queries), at}), {1, queries});
  const int64_t columns = n.integer("rotary_embedding_dim", 0);
  int64_t heads = 0;
  if (merged) heads = columns != 0 ? n.count("num_heads") : known_size(n, floordiv(shape[2], 2 * half), "heads");
  return {rotated_sequence(n, x, heads, ops::gather(n, {.table = cos, .indices = at}),
                           ops::gather(n, {.table = sin, .indices = at}), columns)};
}

constexpr OnnxOperator kOperators[] = {
    {"Attention", 1, import_microsoft_attention, kMicrosoft},
    {"GroupQueryAttention", 1, import_group_query_attention, kMicrosoft},
    {"MultiHeadAttention", 1, import_multi_head_attention, kMicrosoft},
    {"RotaryEmbedding", 23, import_rotary_embedding},
    {"RotaryEmbedding", 1, import_microsoft_rotary_embedding, kMicrosoft},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_attention_def{.name = "attention", .operators = kOperators};

}  // namespace hone
