// Pools: the gradient goes back to the elements that a place of the window read.
#include "gradients/gradient.h"
#include "ops/calls/pool.h"
#include "ops/sliding_window.h"

namespace hone {
namespace {

std::vector<ValueId> max_pool_gradient(const GradientArgs& a) {
  return {a.graph.emit(max_pool_gradient_def, {a.operand(0), a.d_results[0]}, a.op().attributes)};
}

std::vector<ValueId> avg_pool_gradient(const GradientArgs& a) {
  Attributes attributes = a.op().attributes;
  attributes.set("sizes", spatial(channels_first(attributes, a.type(0).shape)));
  return {a.graph.emit(avg_pool_gradient_def, {a.d_results[0]}, attributes)};
}

// Linear: what avg_pool gives for the gradient of the result.
std::vector<ValueId> by_avg_pool_gradient(const GradientArgs& a) {
  Attributes attributes = a.op().attributes;
  attributes.erase("sizes");
  return {a.graph.emit(avg_pool_def, {a.d_results[0]}, attributes)};
}

}  // namespace

extern constinit const GradientDef max_pool_rule_def{.op = &max_pool_def, .rule = max_pool_gradient};
extern constinit const GradientDef avg_pool_rule_def{.op = &avg_pool_def, .rule = avg_pool_gradient};
extern constinit const GradientDef avg_pool_gradient_rule_def{.op = &avg_pool_gradient_def,
                                                              .rule = by_avg_pool_gradient};

}  // namespace hone
