#include "gradients/gradient.h"

#include <map>

#include "base/error.h"
#include "gradients/registry.h"
#include "ops/calls.h"

namespace hone {
namespace {

const GradientDef* rule_of(const OpDef& op) {
  static const auto by_op = [] {
    std::map<const OpDef*, const GradientDef*> map;
    for (const GradientDef* def : gradients::all()) map.emplace(def->op, def);
    return map;
  }();
  const auto found = by_op.find(&op);
  return found == by_op.end() ? nullptr : found->second;
}

}  // namespace

bool has_gradient(const OpDef& op) { return rule_of(op); }

std::vector<ValueId> gradients_of(const GradientArgs& args) {
  const OpDef& op = *args.op().op;
  const GradientDef* def = rule_of(op);
  if (!def) fail("{} has no gradient: {}", op.name, op.no_gradient ? op.no_gradient : "no rule is known");
  return def->rule(args);
}

ValueId summed_to(Graph& graph, ValueId d, const Shape& shape) {
  const Shape from = graph.type(d).shape;
  const size_t more = from.size() - shape.size();
  std::vector<int64_t> axes;
  for (size_t i = 0; i < from.size(); ++i)
    if (i < more || (shape[i - more] == Dim(1) && from[i] != Dim(1))) axes.push_back(static_cast<int64_t>(i));
  if (axes.empty()) return d;
  const ValueId sum = ops::reduce_sum(graph, {.x = d, .axes = axes});
  return more == 0 ? sum : ops::reshape(graph, {.x = sum, .shape = shape});
}

}  // namespace hone
