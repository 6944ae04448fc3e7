// All sample calls of an op as one graph.
#pragma once

#include <map>
#include <string>

#include "ir/graph.h"
#include "tests/support/op_cases.h"

namespace hone {

// Side by side, so that their kernels are compiled together, with a value for each input.
struct OpCalls {
  Graph graph;
  std::map<std::string, Tensor> inputs;
};

// Activations are inputs; the weights and biases of linear and convolutions are constants, and so are those of every
// other call of a recurrent layer and packed operands of every other call.
inline bool is_weight(const OpDef& op, size_t operand, const Tensor& tensor, int call) {
  const std::string_view name = op.name;
  const bool is_recurrent = name == "rnn" || name == "gru" || name == "lstm" || name == "recurrent_steps";
  return ((tensor.is_packed() || (is_recurrent && operand > 0)) && call % 2) ||
         (!tensor.is_packed() && (name == "linear" || name == "conv" || name == "conv_transpose") && operand > 0);
}

inline OpCalls calls_of(const OpDef& op) {
  OpCalls calls;
  Philox rng(1);
  int number = 0;
  for (const OpCase& one : cases_for(op, rng)) {
    ++number;
    std::vector<ValueId> operands;
    for (size_t i = 0; i < one.operands.size(); ++i) {
      const std::string label = fmt::format("{}.{}", number, i);
      if (!one.operands[i]) operands.push_back(kNone);
      else if (is_weight(op, i, *one.operands[i], number))
        operands.push_back(calls.graph.add_constant(label, *one.operands[i]));
      else {
        operands.push_back(calls.graph.add_input(label, one.operands[i]->type()));
        calls.inputs[label] = *one.operands[i];
      }
    }
    const NodeId node = calls.graph.add_node(op, operands, one.attributes);
    for (size_t r = 0; r < calls.graph.node(node).results.size(); ++r)
      calls.graph.add_output(calls.graph.result(node, static_cast<int>(r)),
                             fmt::format("{} {} result {}", number, one.text(), r));
  }
  return calls;
}

}  // namespace hone
