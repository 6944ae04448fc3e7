// dropout_train, whose mask is computed again from what it was computed from.
#include "gradients/gradient.h"
#include "ops/calls/dropout_train.h"

namespace hone {
namespace {

std::vector<ValueId> dropout_train_gradient(const GradientArgs& a) {
  std::vector<ValueId> operands = a.op().operands;
  operands[0] = a.d_results[0];
  return {summed_to(a.graph, a.graph.emit(dropout_train_def, operands, a.op().attributes), a.type(0).shape)};
}

}  // namespace

extern constinit const GradientDef dropout_train_rule_def{.op = &dropout_train_def, .rule = dropout_train_gradient};

}  // namespace hone
