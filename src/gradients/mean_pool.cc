// mean_pool: tokens that a mask keeps share the gradient of their mean.
#include "ops/calls/mean_pool.h"
#include "gradients/gradient.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/cast.h"
#include "ops/calls/full.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"

namespace hone {
namespace {

// A token's share of the mean, where the mask keeps it.
std::vector<ValueId> mean_pool_gradient(const GradientArgs& a) {
  Graph& g = a.graph;
  const DType dtype = g.type(a.d_results[0]).dtype;
  const auto constant = [&](double value) { return ops::full(g, {.shape = Shape(), .value = value, .dtype = dtype}); };
  const ValueId mask = ops::cast(g, {.x = a.operand(1), .dtype = dtype});
  const ValueId count = ops::max(g, {ops::reduce_sum(g, {.x = mask, .axes = std::vector<int64_t>{1}}), constant(1e-9)});
  const ValueId share = ops::unsqueeze(g, {.x = ops::div(g, {mask, count}), .axes = std::vector<int64_t>{2}});
  return {ops::mul(g, {share, ops::unsqueeze(g, {.x = a.d_results[0], .axes = std::vector<int64_t>{1}})})};
}

}  // namespace

extern constinit const GradientDef mean_pool_rule_def{.op = &mean_pool_def, .rule = mean_pool_gradient};

}  // namespace hone
