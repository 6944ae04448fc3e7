// attention: its gradient is an op, which computes the weights again from q and k. Only a mask that has a gradient
// itself, as learned biases have, and sinks need all of queries x keys.
#include "gradients/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "ops/calls/arithmetic.h"
#include "ops/calls/attention.h"
#include "ops/calls/comparison.h"
#include "ops/calls/concat.h"
#include "ops/calls/expand.h"
#include "ops/calls/full.h"
#include "ops/calls/matmul.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"
#include "ops/calls/shape_of.h"
#include "ops/calls/softmax.h"
#include "ops/calls/softmax_gradient.h"
#include "ops/calls/split.h"
#include "ops/calls/transcendental.h"
#include "ops/calls/transpose.h"

namespace hone {
namespace {

using List = std::vector<int64_t>;

// Queries x keys of all heads, as products of matrices. Heads that share keys lie below each other, so that one product
// is of all their rows, and one sums over them.
class Expansion {
 public:
  Expansion(Graph& g, const AttentionOperands& operands, const Attributes& attributes)
      : g_(g),
        heads_(attributes.get<int64_t>("heads")),
        kv_heads_(attributes.get_or<int64_t>("kv_heads", heads_)),
        batches_(g.type(operands.q).shape[0]),
        queries_(g.type(operands.q).shape[1]),
        keys_(g.type(operands.k).shape[1]),
        mask_(operands.mask),
        sinks_(operands.sinks) {
    for (ValueId v : {operands.q, operands.k, operands.v, operands.d})
      if (g.type(v).dtype == DType::f64) dtype_ = DType::f64;
    const double columns = static_cast<double>(g.type(operands.q).shape[2].constant() / heads_);
    scale_ = number(attributes.get_or<double>("scale", 1 / std::sqrt(columns)));
    softcap_ = attributes.get_or<double>("softcap", 0);
    blind_is_zero_ = attributes.get_or<int64_t>("blind_is_zero", 0) != 0;
    from_start_ = attributes.get_or<int64_t>("from_start", 0) != 0;
    if (attributes.has("before")) before_ = attributes.get<int64_t>("before");
    if (attributes.has("behind")) behind_ = attributes.get<int64_t>("behind");
    if (attributes.get_or<int64_t>("causal", 0) != 0) behind_ = 0;
    q_ = ops::mul(g, {rows_of_queries(operands.q), scale_});
    k_ = rows_of_keys(operands.k);
    v_ = rows_of_keys(operands.v);
    d_ = rows_of_queries(operands.d);
  }

  AttentionGradients gradients() {
    const ValueId logits = scores();
    ValueId d_weights = by_head(ops::matmul(g_, {.a = d_, .b = v_, .transpose_b = 1}));
    ValueId weights = softmax(logits), d_scores = kNone, d_sinks = kNone;
    if (sinks_ == kNone) {
      d_scores = ops::softmax_gradient(g_, {.y = weights, .d = d_weights});
    } else {  // a column behind the keys, whose weight meets no value
      const std::vector<ValueId> of_keys = without_sinks(weights);
      const ValueId nothing = ops::full(g_, {.shape = column(), .value = 0.0, .dtype = dtype_});
      d_weights = ops::concat(g_, {.inputs = {d_weights, nothing}, .axis = 3});
      const std::vector<ValueId> d = without_sinks(ops::softmax_gradient(g_, {.y = weights, .d = d_weights}));
      weights = of_keys[0], d_scores = d[0];
      d_sinks = ops::reduce_sum(g_, {.x = d[1], .axes = List{0, 2, 3}, .keepdims = 0});
    }
    const ValueId by_group = shared(slope_ == kNone ? d_scores : ops::mul(g_, {d_scores, slope_}));
    const ValueId d_q = ops::mul(g_, {ops::matmul(g_, {.a = by_group, .b = k_}), scale_});
    const ValueId d_k = ops::matmul(g_, {.a = by_group, .b = q_, .transpose_a = 1});
    const ValueId d_v = ops::matmul(g_, {.a = shared(weights), .b = d_, .transpose_a = 1});
    return {from_queries(d_q), from_keys(d_k), from_keys(d_v), d_scores, d_sinks};
  }

 private:
  ValueId number(double value) { return ops::full(g_, {.shape = Shape(), .value = value, .dtype = dtype_}); }
  Dim columns(ValueId x, int64_t heads) const { return floordiv(g_.type(x).shape[2], heads); }
  ValueId transposed(ValueId x, const List& perm) { return ops::transpose(g_, {.x = x, .perm = perm}); }

  // [B,S,H*D] as [B,G,H/G*S,D].
  ValueId rows_of_queries(ValueId x) {
    const int64_t shared = heads_ / kv_heads_;
    const Dim width = columns(x, heads_);
    const ValueId apart = reshaped(g_, as_dtype(g_, x, dtype_), {batches_, queries_, kv_heads_, shared, width});
    return reshaped(g_, transposed(apart, {0, 2, 3, 1, 4}), {batches_, kv_heads_, shared * queries_, width});
  }
  ValueId from_queries(ValueId x) {
    const int64_t shared = heads_ / kv_heads_;
    const Dim width = g_.type(x).shape[3];
    const ValueId apart = reshaped(g_, x, {batches_, kv_heads_, shared, queries_, width});
    return reshaped(g_, transposed(apart, {0, 3, 1, 2, 4}), {batches_, queries_, width * heads_});
  }

  // [B,T,G*D] as [B,G,T,D].
  ValueId rows_of_keys(ValueId x) {
    const Dim width = columns(x, kv_heads_);
    return transposed(reshaped(g_, as_dtype(g_, x, dtype_), {batches_, keys_, kv_heads_, width}), {0, 2, 1, 3});
  }
  ValueId from_keys(ValueId x) {
    const Dim width = g_.type(x).shape[3];
    return reshaped(g_, transposed(x, {0, 2, 1, 3}), {batches_, keys_, width * kv_heads_});
  }

  // [B,G,H/G*S,T] as [B,H,S,T], and back.
  ValueId by_head(ValueId x) { return reshaped(g_, x, {batches_, heads_, queries_, keys_}); }
  ValueId shared(ValueId x) { return reshaped(g_, x, {batches_, kv_heads_, heads_ / kv_heads_ * queries_, keys_}); }

  ValueId scores() {
    ValueId scores = by_head(ops::matmul(g_, {.a = q_, .b = k_, .transpose_b = 1}));
    if (softcap_ != 0) {
      const ValueId y = ops::tanh(g_, {ops::div(g_, {scores, number(softcap_)})});
      slope_ = ops::sub(g_, {number(1), ops::mul(g_, {y, y})});
      scores = ops::mul(g_, {y, number(softcap_)});
    }
    const bool is_chosen = mask_ != kNone && g_.type(mask_).dtype == DType::boolean;
    if (is_chosen) scores = ops::where(g_, {mask_, scores, hidden()});
    else if (mask_ != kNone) scores = ops::add(g_, {scores, as_dtype(g_, mask_, dtype_)});
    if (!before_ && !behind_) return scores;
    return ops::where(g_, {is_seen(), scores, hidden()});
  }
  ValueId hidden() { return number(-std::numeric_limits<double>::infinity()); }

  Shape column() const { return {batches_, heads_, queries_, 1}; }
  std::vector<ValueId> without_sinks(ValueId x) {
    return ops::split(g_, {.x = x, .axis = 3, .sizes = Shape{keys_, 1}});
  }

  ValueId softmax(ValueId scores) {
    if (sinks_ != kNone) {
      const ValueId each = reshaped(g_, as_dtype(g_, sinks_, dtype_), {1, heads_, 1, 1});
      const ValueId all = ops::expand(g_, {.x = each, .shape = column()});
      return ops::softmax(g_, {.x = ops::concat(g_, {.inputs = {scores, all}, .axis = 3})});
    }
    const ValueId weights = ops::softmax(g_, {.x = scores});
    if (!blind_is_zero_) return weights;
    const ValueId most = ops::reduce_max(g_, {.x = scores, .axes = List{3}});
    return ops::where(g_, {ops::equal(g_, {most, hidden()}), number(0), weights});
  }

  // [S,T]: whether key t is in the window around the position of query s, which is s or s + T - S.
  ValueId is_seen() {
    ValueId t = ops::iota(g_, {.shape = Shape{keys_}}), s = ops::iota(g_, {.shape = Shape{queries_, 1}});
    if (!from_start_) t = ops::add(g_, {t, size(queries_)}), s = ops::add(g_, {s, size(keys_)});
    ValueId seen = kNone;
    if (behind_) seen = ops::less_or_equal(g_, {t, ops::add(g_, {s, g_.add_scalar<int64_t>(reach(*behind_))})});
    if (!before_) return seen;
    const ValueId near = ops::less_or_equal(g_, {s, ops::add(g_, {t, g_.add_scalar<int64_t>(reach(*before_))})});
    return seen == kNone ? near : ops::logical_and(g_, {seen, near});
  }
  static int64_t reach(int64_t keys) { return std::min(keys, int64_t{1} << 40); }  // beyond the length of any sequence
  ValueId size(const Dim& dim) {
    if (dim.is_constant()) return g_.add_scalar<int64_t>(dim.constant());
    return ops::reshape(g_, {.x = ops::shape_of(g_, {ops::iota(g_, {.shape = Shape{dim}})}), .shape = Shape()});
  }

  Graph& g_;
  int64_t heads_, kv_heads_;
  Dim batches_, queries_, keys_;
  ValueId mask_, sinks_, q_ = kNone, k_ = kNone, v_ = kNone, d_ = kNone, scale_ = kNone;  // q_ is times scale_
  DType dtype_ = DType::f32;
  double softcap_ = 0;
  ValueId slope_ = kNone;  // of the soft cap
  bool blind_is_zero_ = false, from_start_ = false;
  std::optional<int64_t> before_, behind_;
};

std::vector<ValueId> attention_gradient(const GradientArgs& a) {
  const AttentionOperands operands{a.operand(0), a.operand(1),   a.operand(2),
                                   a.operand(3), a.d_results[0], a.operand(4)};
  if (a.wants(3) || operands.sinks != kNone) {
    const AttentionGradients all = expanded_attention_gradient(a.graph, operands, a.op().attributes);
    const ValueId of_mask = a.wants(3) ? summed_to(a.graph, all.scores, a.type(3).shape) : kNone;
    return {all.q, all.k, all.v, of_mask, all.sinks};
  }
  std::vector<ValueId> values{operands.q, operands.k, operands.v, operands.d};
  if (operands.mask != kNone) values.push_back(operands.mask);
  return a.graph.emit_all({&attention_gradient_def, values, a.op().attributes});
}

}  // namespace

AttentionGradients expanded_attention_gradient(Graph& graph, const AttentionOperands& operands,
                                               const Attributes& attributes) {
  return Expansion(graph, operands, attributes).gradients();
}

extern constinit const GradientDef attention_rule_def{.op = &attention_def, .rule = attention_gradient};

}  // namespace hone
