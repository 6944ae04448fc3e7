// cumsum: each element is part of all sums from it on.
#include "ops/calls/cumsum.h"
#include "gradients/gradient.h"

namespace hone {
namespace {

std::vector<ValueId> cumsum_gradient(const GradientArgs& a) {
  Attributes attributes = a.op().attributes;
  attributes.set("reverse", 1 - attributes.get_or<int64_t>("reverse", 0));
  std::vector<ValueId> operands = a.op().operands;
  operands[0] = a.d_results[0];
  return {a.graph.emit(cumsum_def, operands, attributes)};
}

}  // namespace

extern constinit const GradientDef cumsum_rule_def{.op = &cumsum_def, .rule = cumsum_gradient};

}  // namespace hone
