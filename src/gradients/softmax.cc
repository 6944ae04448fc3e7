// softmax and log_softmax, by their results; and the gradients of those gradients.
#include "ops/calls/softmax.h"
#include "gradients/gradient.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/reduce.h"
#include "ops/calls/softmax_gradient.h"
#include "ops/calls/transcendental.h"

namespace hone {
namespace {

int64_t axis_of(const GradientArgs& a) { return a.op().attributes.get_or<int64_t>("axis", -1); }

// The result; where it was rounded to fewer bits than gradients have, computed again.
template <class Call>
ValueId wide_result(const GradientArgs& a) {
  const ValueId x = wide_operand(a, 0);
  return x == a.operand(0) ? a.result() : a.graph.emit(Call{.x = x, .axis = axis_of(a)});
}

std::vector<ValueId> softmax_gradient(const GradientArgs& a) {
  return {ops::softmax_gradient(a.graph, {.y = wide_result<ops::Softmax>(a), .d = a.d_results[0], .axis = axis_of(a)})};
}

std::vector<ValueId> log_softmax_gradient(const GradientArgs& a) {
  return {ops::log_softmax_gradient(a.graph,
                                    {.y = wide_result<ops::LogSoftmax>(a), .d = a.d_results[0], .axis = axis_of(a)})};
}

ValueId sum_along(const GradientArgs& a, ValueId x) {
  return ops::reduce_sum(a.graph, {.x = x, .axes = std::vector{axis_of(a)}});
}

// Of z = y (d - sum(d y)), with u the gradient of z: by y u (d - sum(d y)) - d sum(u y), by d what softmax gives for u.
std::vector<ValueId> softmax_second_gradient(const GradientArgs& a) {
  Graph& g = a.graph;
  const ValueId y = wide_operand(a, 0), d = wide_operand(a, 1), u = a.d_results[0];
  std::vector<ValueId> gradients(2, kNone);
  if (a.wants(0)) {
    const ValueId rest = ops::sub(g, {d, sum_along(a, ops::mul(g, {d, y}))});
    gradients[0] = ops::sub(g, {ops::mul(g, {u, rest}), ops::mul(g, {d, sum_along(a, ops::mul(g, {u, y}))})});
  }
  if (a.wants(1)) gradients[1] = ops::softmax_gradient(g, {.y = y, .d = u, .axis = axis_of(a)});
  return gradients;
}

// Of z = d - exp(y) sum(d): by y -u exp(y) sum(d), by d u - sum(u exp(y)).
std::vector<ValueId> log_softmax_second_gradient(const GradientArgs& a) {
  Graph& g = a.graph;
  const ValueId u = a.d_results[0], weighted = ops::mul(g, {u, ops::exp(g, {wide_operand(a, 0)})});
  std::vector<ValueId> gradients(2, kNone);
  if (a.wants(0)) gradients[0] = ops::neg(g, {ops::mul(g, {weighted, sum_along(a, wide_operand(a, 1))})});
  if (a.wants(1)) gradients[1] = ops::sub(g, {u, sum_along(a, weighted)});
  return gradients;
}

}  // namespace

extern constinit const GradientDef softmax_rule_def{.op = &softmax_def, .rule = softmax_gradient};
extern constinit const GradientDef log_softmax_rule_def{.op = &log_softmax_def, .rule = log_softmax_gradient};
extern constinit const GradientDef softmax_second_rule_def{.op = &softmax_gradient_def,
                                                           .rule = softmax_second_gradient};
extern constinit const GradientDef log_softmax_second_rule_def{.op = &log_softmax_gradient_def,
                                                               .rule = log_softmax_second_gradient};

}  // namespace hone
