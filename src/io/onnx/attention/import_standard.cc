// Attention of the standard, and FlexAttention, whose scores and weights pass through graphs of the model.
//
// Where heads and columns are numbers, the op `attention` does it. Where they are known only at run time, or something
// else happens between the products, it is spelled out. Letters: B batches, H heads of queries, G of keys and values, S
// queries, T keys, D columns of a head of keys, E of one of values.
#include <cmath>
#include <limits>

#include "io/onnx/attention/attention.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/comparison.h"
#include "ops/calls/concat.h"
#include "ops/calls/expand.h"
#include "ops/calls/matmul.h"
#include "ops/calls/pad.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"
#include "ops/calls/shape_of.h"
#include "ops/calls/slice.h"
#include "ops/calls/softmax.h"
#include "ops/calls/transcendental.h"

namespace hone {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// --- Products of heads -----------------------------------------------------------------------------------------------

// rows [B,H,S,X] times, for each head, the matrix [X,Y] (as [Y,X] where transposed) of its group in [B,G,..]:
// [B,H,S,Y].
ValueId product_per_head(const OnnxNode& n, ValueId rows, ValueId matrices, bool is_transposed) {
  const Shape a = n.type(rows).shape, b = n.type(matrices).shape;
  if (a.size() != 4 || b.size() != 4)
    fail("heads are {} and {}; expected 4 dimensions", to_string(n.type(rows)), to_string(n.type(matrices)));
  const Dim &heads = a[1], &groups = b[1];
  if (groups.is_constant() && groups.constant() < 1)
    fail("there are {} heads of keys; accepted: 1 or more", groups.constant());
  if (heads.is_constant() && groups.is_constant() && heads.constant() % groups.constant() != 0)
    fail("{} heads do not share {} heads of keys evenly", heads.constant(), groups.constant());
  const ValueId left = heads == groups ? rows : n.reshape(rows, {a[0], groups, floordiv(heads, groups) * a[2], a[3]});
  const ValueId product = ops::matmul(n, {.a = left, .b = matrices, .transpose_b = is_transposed});
  return n.reshape(product, {a[0], heads, a[2], is_transposed ? b[2] : b[3]});
}

// 1 / sqrt(D), or the attribute.
ValueId scaled(const OnnxNode& n, ValueId scores, ValueId q) {
  const DType dtype = n.type(scores).dtype;
  const Dim columns = n.type(q).shape.at(3);
  if (n.has_attribute("scale")) return ops::mul(n, {scores, n.scalar(n.number("scale"), dtype)});
  if (columns.is_constant())
    return ops::mul(n, {scores, n.scalar(1 / std::sqrt(static_cast<double>(columns.constant())), dtype)});
  const ValueId sizes = ops::shape_of(n, {q});
  const ValueId size = ops::slice(n, {.x = sizes, .starts = Shape{3}, .ends = Shape{4}});
  return ops::div(n, {scores, ops::sqrt(n, {n.cast(n.reshape(size, {}), dtype)})});
}

// --- What a query sees -----------------------------------------------------------------------------------------------

struct Heads {
  ValueId q, k, v;  // [B,H,S,D], [B,G,T,D], [B,G,T,E]
  Dim batch(const OnnxNode& n) const { return n.type(q).shape[0]; }
  Dim heads(const OnnxNode& n) const { return n.type(q).shape[1]; }
  Dim queries(const OnnxNode& n) const { return n.type(q).shape[2]; }
  Dim keys(const OnnxNode& n) const { return n.type(k).shape[2]; }
};

// As a sum to the scores [B,H,S,T]; keys beyond its end are hidden. Its dimensions are those of the scores, or 1.
ValueId mask_bias(const OnnxNode& n, ValueId mask, const Heads& heads) {
  if (mask == kNone) return kNone;
  ValueId bias = n.type(mask).dtype == DType::boolean ? bias_of(n, mask, -kInfinity) : mask;
  const Shape scores{heads.batch(n), heads.heads(n), heads.queries(n), heads.keys(n)};
  if (!n.type(bias).ranked) return n.reshape(ops::expand(n, {.x = bias, .shape = scores}), scores);
  Shape shape = n.type(bias).shape;
  if (shape.empty() || shape.size() > 4) fail("the mask is {}; accepted: 1 to 4 dimensions", to_string(n.type(mask)));
  const Dim lacking = scores[3] - shape.back();
  const bool shorter = lacking.is_constant() ? lacking.constant() > 0 : shape.back() != Dim(1);
  if (shorter) {
    Shape pads(2 * shape.size(), 0);
    pads.back() = lacking;
    bias = ops::pad(n, {.x = bias, .value = n.scalar(-kInfinity, n.type(bias).dtype), .pads = pads});
    shape.back() = scores[3];
  }
  bool fits = true;
  for (size_t i = 0; i < shape.size(); ++i) {
    const Dim& wanted = scores[4 - shape.size() + i];
    if (shape[i] == Dim(1) || shape[i] == wanted) continue;
    shape[i] = wanted;
    fits = false;
  }
  return fits ? n.reshape(bias, shape) : ops::expand(n, {.x = bias, .shape = shape});
}

// How many keys come before the queries of each sample: a number, or [B,1,1,1].
struct Offset {
  Dim before = 0;
  ValueId per_sample = kNone;
};

Offset offset_of(const OnnxNode& n, const Heads& heads) {
  if (n.has(4)) {
    n.rank(n.in(4));
    return {n.type(n.in(4)).shape.at(2)};
  }
  if (!n.has(6)) return {};
  const ValueId lengths = n.reshape(n.cast(n.in(6), DType::i64), {heads.batch(n), 1, 1, 1});
  const ValueId sizes = ops::shape_of(n, {heads.q});
  const ValueId queries = n.reshape(ops::slice(n, {.x = sizes, .starts = Shape{2}, .ends = Shape{3}}), {});
  return {0, ops::sub(n, {lengths, queries})};
}

ValueId both(const OnnxNode& n, ValueId a, ValueId b) {
  return a == kNone || b == kNone ? (a == kNone ? b : a) : ops::logical_and(n, {a, b});
}

int64_t window(const OnnxNode& n, const char* name) {
  const int64_t size = n.integer(name, -1);
  if (size < -1) fail("{} is {}; accepted: -1, which leaves it open, and 0 or more", name, size);
  return size;
}

// Which keys the position of a query, the window around it and the lengths of the samples leave; kNone: all.
ValueId visible_keys(const OnnxNode& n, const Heads& heads) {
  const int64_t left = window(n, "left_window_size"), right = window(n, "right_window_size");
  const bool causal = n.is_one("is_causal", false);
  ValueId visible = kNone;
  if (causal || left >= 0 || right >= 0) {
    const Offset offset = offset_of(n, heads);
    const Dim queries = heads.queries(n);
    ValueId at = n.reshape(positions(n, offset.before, queries), {queries, 1});
    if (offset.per_sample != kNone) at = ops::add(n, {at, offset.per_sample});
    const ValueId keys = positions(n, 0, heads.keys(n));
    const auto moved = [&](int64_t by) { return ops::add(n, {at, n.constant(Tensor::scalar(by))}); };
    if (causal) visible = ops::less_or_equal(n, {keys, at});
    if (right >= 0) visible = both(n, visible, ops::less_or_equal(n, {keys, moved(right)}));
    if (left >= 0) visible = both(n, visible, ops::greater_or_equal(n, {keys, moved(-left)}));
  }
  if (!n.has(6)) return visible;
  const ValueId lengths = n.reshape(n.cast(n.in(6), DType::i64), {heads.batch(n), 1, 1, 1});
  return both(n, visible, ops::less(n, {positions(n, 0, heads.keys(n)), lengths}));
}

// Whether a query sees no key at all: [B,H,S,1] or what broadcasts to it.
ValueId sees_nothing(const OnnxNode& n, ValueId bias) {
  Shape shape = n.type(bias).shape;
  shape.insert(shape.begin(), 4 - shape.size(), 1);
  const ValueId most = ops::reduce_max(n, {.x = n.reshape(bias, shape), .axes = std::vector<int64_t>{3}});
  return ops::equal(n, {most, n.scalar(-kInfinity, n.type(bias).dtype)});
}

ValueId zero_where(const OnnxNode& n, ValueId condition, ValueId x) {
  return condition == kNone ? x : ops::where(n, {.condition = condition, .a = n.scalar(0, n.type(x).dtype), .b = x});
}

// What the op `attention` knows by itself is not part of the bias.
struct Bias {
  ValueId all = kNone;    // float, or bool where each key that it leaves is seen; kNone: every query sees every key
  ValueId blind = kNone;  // where a query sees none, without what the op knows; kNone: each sees one
  bool causal = false, from_start = false;
  std::optional<int64_t> before, behind;
  bool limits() const { return causal || before || behind; }
};

Bias with_all(const OnnxNode& n, const Heads& heads) {
  const ValueId mask = mask_bias(n, n.in_or_none(3), heads), visible = visible_keys(n, heads);
  Bias bias{.all = sum_of_biases(n, mask, visible == kNone ? kNone : bias_of(n, visible, -kInfinity))};
  if (bias.all != kNone) bias.blind = sees_nothing(n, bias.all);
  return bias;
}

// Whether a mask is bool and broadcasts to the scores whatever a run's sizes are.
bool is_read_as_it_is(const OnnxNode& n, ValueId mask, const Heads& heads) {
  if (mask == kNone || n.type(mask).dtype != DType::boolean || !n.type(mask).ranked) return false;
  const Shape& shape = n.type(mask).shape;
  const Shape scores{heads.batch(n), heads.heads(n), heads.queries(n), heads.keys(n)};
  if (shape.empty() || shape.size() > 4 || shape.back() != scores[3]) return false;
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != Dim(1) && shape[i] != scores[4 - shape.size() + i]) return false;
  return true;
}

// Positions as the op counts them: query s at key s, or the last query at the last key.
Bias for_op(const OnnxNode& n, const Heads& heads) {
  const int64_t left = window(n, "left_window_size"), right = window(n, "right_window_size");
  const bool causal = n.is_one("is_causal", false), is_limited = causal || left >= 0 || right >= 0;
  const bool has_lengths = n.has(6);
  Bias bias;
  if (is_limited) {
    if (has_lengths) return with_all(n, heads);
    const Dim before = offset_of(n, heads).before;
    bias.from_start = before == Dim(0) && !(heads.keys(n) == heads.queries(n));
    if (!bias.from_start && !(heads.keys(n) == before + heads.queries(n))) return with_all(n, heads);
    bias.causal = causal;
    if (left >= 0) bias.before = left;
    if (right >= 0) bias.behind = right;
  }
  const ValueId mask = n.in_or_none(3);
  if (has_lengths) bias.all = with_all(n, heads).all;
  else bias.all = is_read_as_it_is(n, mask, heads) ? mask : mask_bias(n, mask, heads);
  return bias;
}

// --- Attention -------------------------------------------------------------------------------------------------------

// Of a value whose rank is not known but must be this one.
ValueId of_rank(const OnnxNode& n, ValueId x, size_t rank) {
  if (n.type(x).ranked) return x;
  std::vector<int64_t> sizes(rank, 0);
  sizes.back() = -1;
  return ops::reshape(n, {.x = x, .computed_shape = n.constant_integers(sizes), .copy_zeros = 1});
}

int64_t head_count(const OnnxNode& n, const char* attribute) {
  const int64_t heads = n.integer(attribute);
  if (heads < 1) fail("{} is {}; accepted: 1 or more", attribute, heads);
  return heads;
}

ValueId with_cache(const OnnxNode& n, ValueId x, int past) {
  return n.has(past) ? ops::concat(n, {.inputs = {of_rank(n, n.in(past), 4), x}, .axis = 2}) : x;
}

bool is_known(const OnnxNode& n, const Heads& heads) {
  for (ValueId x : {heads.q, heads.k, heads.v})
    if (!n.type(x).shape.at(1).is_constant() || !n.type(x).shape.at(3).is_constant()) return false;
  return true;
}

ValueId spelled_out(const OnnxNode& n, const Heads& heads, const Bias& bias, double softcap) {
  ValueId scores = capped(n, scaled(n, product_per_head(n, heads.q, heads.k, true), heads.q), softcap);
  if (bias.all != kNone) scores = ops::add(n, {scores, n.cast(bias.all, n.type(scores).dtype)});
  const Shape shape = n.type(heads.q).shape;
  scores = n.reshape(scores, {shape[0], shape[1], shape[2], heads.keys(n)});
  return product_per_head(n, zero_where(n, bias.blind, ops::softmax(n, {scores})), heads.v, false);
}

// What qk_matmul_output_mode asks for.
ValueId scores_output(const OnnxNode& n, const Heads& heads, const Bias& bias, double softcap) {
  const int64_t mode = n.integer("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) fail("qk_matmul_output_mode is {}; accepted: 0 to 3", mode);
  ValueId all = scaled(n, product_per_head(n, heads.q, heads.k, true), heads.q);
  if (mode >= 1) all = capped(n, all, softcap);
  if (mode >= 2 && bias.all != kNone) all = ops::add(n, {all, n.cast(bias.all, n.type(all).dtype)});
  if (mode == 3) all = zero_where(n, bias.blind, ops::softmax(n, {all}));
  return n.cast(all, n.type(heads.q).dtype);
}

std::vector<ValueId> import_attention(OnnxNode& n) {
  const bool merged = n.type(n.in(0)).ranked ? n.rank(n.in(0)) == 3 : n.has_attribute("q_num_heads");
  const auto split = [&](int input, const char* attribute) {
    const ValueId x = of_rank(n, n.in(input), merged ? 3 : 4);
    if (n.rank(x) != (merged ? 3u : 4u))
      fail("input {} is {}; expected {} dimensions", input, to_string(n.type(x)), merged ? 3 : 4);
    return merged ? split_heads(n, x, head_count(n, attribute)) : x;
  };
  if (n.has(4) != n.has(5)) fail("past_key and past_value are given together or not at all");
  if (n.has(4) && n.has(6)) fail("nonpad_kv_seqlen is given beside past_key; accepted: one of them");
  const Heads heads{split(0, "q_num_heads"), with_cache(n, split(1, "kv_num_heads"), 4),
                    with_cache(n, split(2, "kv_num_heads"), 5)};
  const double softcap = n.number("softcap", 0);
  const bool known = is_known(n, heads), needs_all = !known || n.wants(3);
  const Bias all = needs_all ? with_all(n, heads) : Bias();
  const DType dtype = n.type(heads.q).dtype;
  ValueId y = kNone;
  if (known) {
    const Bias bias = for_op(n, heads);
    AttentionCall call{.q = merge_heads(n, heads.q),
                       .k = merge_heads(n, heads.k),
                       .v = merge_heads(n, heads.v),
                       .heads = heads.heads(n).constant(),
                       .kv_heads = n.type(heads.k).shape[1].constant(),
                       .scale = {},
                       .softcap = softcap,
                       .bias = bias.all,
                       .causal = bias.causal,
                       .from_start = bias.from_start,
                       .blind_is_zero = bias.all != kNone || bias.limits(),
                       .before = bias.before,
                       .behind = bias.behind};
    if (n.has_attribute("scale")) call.scale = n.number("scale");
    y = split_heads(n, attended(n, call), call.heads);
  }
  if (y == kNone) y = n.cast(spelled_out(n, heads, all, softcap), dtype);
  return {merged ? merge_heads(n, y) : y, heads.k, heads.v, n.wants(3) ? scores_output(n, heads, all, softcap) : kNone};
}

// --- FlexAttention ---------------------------------------------------------------------------------------------------

// x through the graph of an attribute, where it is given.
ValueId modified(const OnnxNode& n, const char* graph, ValueId x) {
  if (!n.has_attribute(graph)) return x;
  const std::vector<ValueId> results = n.inline_body(graph, std::span(&x, 1));
  if (results.size() != 1) fail("graph {} has {} outputs; expected 1", graph, results.size());
  return n.cast(n.reshape(results[0], n.type(x).shape), n.type(x).dtype);
}

std::vector<ValueId> import_flex_attention(OnnxNode& n) {
  const Heads heads{of_rank(n, n.in(0), 4), of_rank(n, n.in(1), 4), of_rank(n, n.in(2), 4)};
  const DType dtype = n.type(heads.q).dtype,
              precision = n.dtype("softmax_precision", dtype == DType::f64 ? DType::f64 : DType::f32);
  const ValueId products = n.cast(product_per_head(n, heads.q, heads.k, true), precision);
  const ValueId scores = modified(n, "score_mod", scaled(n, products, heads.q));
  const ValueId weights = modified(n, "prob_mod", n.cast(ops::softmax(n, {scores}), precision));
  return {n.cast(product_per_head(n, weights, heads.v, false), dtype)};
}

constexpr OnnxOperator kOperators[] = {
    {"Attention", 23, import_attention},
    {"FlexAttention", 1, import_flex_attention, "ai.onnx.preview"},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_standard_attention_def{.name = "standard_attention", .operators = kOperators};

}  // namespace hone
