#include "io/onnx/attention/attention.h"

#include <cmath>
#include <limits>

#include "base/checked.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/attention.h"
#include "ops/calls/comparison.h"
#include "ops/calls/concat.h"
#include "ops/calls/full.h"
#include "ops/calls/slice.h"
#include "ops/calls/split.h"
#include "ops/calls/transcendental.h"

namespace hone {
namespace {

constexpr int64_t kMostHeads = int64_t{1} << 31;

}  // namespace

ValueId split_heads(const OnnxNode& n, ValueId x, int64_t heads) {
  const Shape shape = n.shape(x, 3);
  checked_range(heads, 1, kMostHeads, "the number of heads");
  return n.transpose(n.reshape(x, {shape[0], shape[1], heads, floordiv(shape[2], heads)}), {0, 2, 1, 3});
}

ValueId merge_heads(const OnnxNode& n, ValueId x) {
  const ValueId rows = n.transpose(x, {0, 2, 1, 3});
  const Shape shape = n.shape(rows, 4);
  return n.reshape(rows, {shape[0], shape[1], shape[2] * shape[3]});
}

Cached cached(const OnnxNode& n, ValueId x, ValueId past, int64_t heads) {
  const bool merged = n.rank(x) == 3;
  const ValueId split = merged ? split_heads(n, x, heads) : x;
  if (past == kNone) return {merged ? x : merge_heads(n, x), split};
  const ValueId present = ops::concat(n, {.inputs = {past, split}, .axis = 2});
  return {merge_heads(n, present), present};
}

ValueId capped(const OnnxNode& n, ValueId scores, double softcap) {
  if (softcap == 0) return scores;
  const ValueId cap = n.scalar(softcap, n.type(scores).dtype);
  return ops::mul(n, {ops::tanh(n, {ops::div(n, {scores, cap})}), cap});
}

ValueId attended(const OnnxNode& n, const AttentionCall& call) {
  Attributes attributes{{"heads", call.heads}, {"kv_heads", call.kv_heads}};
  const auto set_where = [&](bool holds, const char* name) {
    if (holds) attributes.set(name, int64_t{1});
  };
  set_where(call.causal, "causal");
  set_where(call.from_start, "from_start");
  set_where(call.blind_is_zero, "blind_is_zero");
  if (call.scale) attributes.set("scale", *call.scale);
  if (call.softcap != 0) attributes.set("softcap", call.softcap);
  if (call.before) attributes.set("before", *call.before);
  if (call.behind) attributes.set("behind", *call.behind);
  std::vector<ValueId> operands{call.q, call.k, call.v, call.bias};
  if (call.sinks != kNone) operands.push_back(call.sinks);
  return n.cast(n.emit({&attention_def, operands, attributes}), n.type(call.q).dtype);
}

ValueId bias_of(const OnnxNode& n, ValueId visible, double hidden) {
  return ops::where(n, {.condition = visible, .a = n.scalar(0, DType::f32), .b = n.scalar(hidden, DType::f32)});
}

ValueId sum_of_biases(const OnnxNode& n, ValueId a, ValueId b) {
  if (a == kNone || b == kNone) return a == kNone ? b : a;
  return ops::add(n, {n.cast(a, DType::f32), n.cast(b, DType::f32)});
}

ValueId positions(const OnnxNode& n, const Dim& first, const Dim& count) {
  const ValueId all = ops::iota(n, {.shape = Shape{first + count}});
  if (first == Dim(0)) return all;
  return ops::slice(n, {.x = all, .starts = Shape{first}, .ends = Shape{first + count}});
}

ValueId rotated(const OnnxNode& n, ValueId x, ValueId cos, ValueId sin, const Dim& columns, bool interleaved) {
  const Shape shape = n.shape(x);
  if (shape.empty()) fail("x is a scalar; expected columns to turn");
  if (columns.is_constant() && shape.back().is_constant())
    checked_range(columns.constant(), 0, shape.back().constant(), "the number of columns to turn");
  const int64_t last = static_cast<int64_t>(shape.size()) - 1;
  const auto parts = [&](ValueId from, const Dim& first, const Dim& second) {
    return ops::split(n, {.x = from, .axis = -1, .sizes = Shape{first, second}});
  };
  const auto joined = [&](std::vector<ValueId> pieces) { return ops::concat(n, {.inputs = pieces, .axis = last}); };
  if (shape.back() != columns) {
    const std::vector<ValueId> ends = parts(x, columns, shape.back() - columns);
    return joined({rotated(n, ends[0], cos, sin, columns, interleaved), ends[1]});
  }
  const Dim half = floordiv(columns, 2);
  Shape halves = shape, pairs = shape;
  halves.back() = pairs.back() = half;
  pairs.push_back(2);
  const std::vector<ValueId> xs = interleaved ? parts(n.reshape(x, pairs), 1, 1) : parts(x, half, half);
  const ValueId a = n.reshape(xs[0], halves), b = n.reshape(xs[1], halves);
  const auto product = [&](ValueId left, ValueId right) { return ops::mul(n, {left, right}); };
  const ValueId turned_a = ops::sub(n, {product(a, cos), product(b, sin)}),
                turned_b = ops::add(n, {product(a, sin), product(b, cos)});
  if (!interleaved) return joined({turned_a, turned_b});
  Shape single = halves;
  single.push_back(1);
  const ValueId both =
      ops::concat(n, {.inputs = {n.reshape(turned_a, single), n.reshape(turned_b, single)}, .axis = last + 1});
  return n.reshape(both, shape);
}

}  // namespace hone
