// Ops of several results as graphs of ops of one: what bounds of their errors are made of.
#pragma once

#include <algorithm>

#include "gradients/attention.h"
#include "ops/calls/attention.h"
#include "tests/support/expanded_recurrent.h"

namespace hone::test {

struct Expanded {
  Graph graph;                  // without outputs for an op that has no expansion
  std::vector<ValueId> inputs;  // by operand; kNone where absent
};

inline Expanded expanded(const OpDef& op, const Attributes& attributes, std::span<const TensorType* const> operands) {
  Expanded made;
  for (const TensorType* type : operands)
    made.inputs.push_back(type ? made.graph.add_input(fmt::format("{}", made.inputs.size()), *type) : kNone);
  const std::vector<ValueId>& v = made.inputs;
  if (is_expanded_recurrent(op, operands))
    for (ValueId result : ExpandedRecurrent(made.graph, op, attributes, v).results())
      made.graph.add_output(result, fmt::format("{}", made.graph.outputs().size()));
  if (&op != &attention_gradient_def) return made;
  const AttentionGradients all =
      expanded_attention_gradient(made.graph, {v[0], v[1], v[2], v.size() > 4 ? v[4] : kNone, v[3]}, attributes);
  for (ValueId gradient : {all.q, all.k, all.v})
    made.graph.add_output(gradient, fmt::format("{}", made.graph.outputs().size()));
  return made;
}

}  // namespace hone::test
