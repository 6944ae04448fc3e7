// Every registered op on its sample calls: compiled results against the reference.
#include "codegen/registry.h"
#include "ops/calls.h"
#include "ops/registry.h"
#include "tests/conformance/conform.h"
#include "tests/support/op_cases.h"

namespace hone::test {
namespace {

// All sample calls of one op side by side in one graph, so that their kernels are compiled together.
struct Calls {
  Graph graph;
  NamedTensors inputs;
};

// Activations are inputs; weights and biases of linear and convolutions are constants, and so are those of every other
// call
// of a recurrent layer and packed operands of every other call.
bool is_weight(const OpDef& op, size_t operand, const Tensor& tensor, int call) {
  const std::string_view name = op.name;
  const bool is_recurrent = name == "rnn" || name == "gru" || name == "lstm" || name == "recurrent_steps";
  return ((tensor.is_packed() || (is_recurrent && operand > 0)) && call % 2) ||
         (!tensor.is_packed() && (name == "linear" || name == "conv" || name == "conv_transpose") && operand > 0);
}

Calls calls_of(const OpDef& op) {
  Calls calls;
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

class EveryOp : public testing::TestWithParam<const OpDef*> {};

TEST_P(EveryOp, MatchesTheReferenceOnEveryLevelAndThreadCount) {
  const Calls calls = calls_of(*GetParam());
  expect_conforms(calls.graph, calls.inputs);
}

// Operands of one axis, which a reshape gives the shapes that the op is called with.
Calls calls_of_views(const OpDef& op) {
  Calls calls;
  Philox rng(1);
  int number = 0;
  for (const OpCase& one : cases_for(op, rng)) {
    std::vector<ValueId> operands;
    for (const std::optional<Tensor>& tensor : one.operands) {
      const std::string label = fmt::format("{}.{}", number, operands.size());
      if (!tensor || tensor->is_packed() || tensor->container() != Container::none || !is_float(tensor->dtype())) {
        operands.push_back(tensor ? calls.graph.add_constant(label, *tensor) : kNone);
        continue;
      }
      calls.inputs[label] = tensor->reshaped({tensor->elements()});
      const ValueId flat = calls.graph.add_input(label, calls.inputs[label].type());
      operands.push_back(calls.graph.emit(reshape_def, {flat}, {{"shape", to_shape(tensor->shape())}}));
    }
    const NodeId node = calls.graph.add_node(op, operands, one.attributes);
    for (size_t r = 0; r < calls.graph.node(node).results.size(); ++r)
      calls.graph.add_output(calls.graph.result(node, static_cast<int>(r)),
                             fmt::format("{} {} result {}", number, one.text(), r));
    ++number;
  }
  return calls;
}

// Weights that are given or computed are laid out in each run as the op sees them, not as they lie in memory.
TEST_P(EveryOp, SeesOperandsThatAreViews) {
  const Calls calls = calls_of_views(*GetParam());
  expect_outputs(run_session(calls.graph, calls.inputs, {}), bounded_outputs(calls.graph, calls.inputs), "views");
}

// The profile names exactly the ops that have no code generation as interpreted for that reason, or because nothing is
// compiled where shapes depend on data.
TEST_P(EveryOp, SaysWhatIsInterpreted) {
  const OpDef& op = *GetParam();
  const Calls calls = calls_of(op);
  const Ran ran = run_session(calls.graph, calls.inputs, {});
  for (const StepProfile& step : ran.profile.steps) {
    const bool compiled =
        op.view || std::ranges::any_of(codegen::all(), [&](auto* kernel) { return kernel->takes(op); });
    if (!compiled && step.ops == op.name) {  // unless a pass spelled it in other ops
      EXPECT_EQ(step.kind, "interpreted");
      EXPECT_TRUE(step.why_interpreted.find(op.name) != std::string::npos ||
                  step.why_interpreted == "shapes depend on data" || step.why_interpreted.ends_with("has no elements"))
          << step.why_interpreted;
    }
    if (op.pointwise) {  // there are no machine types of less than a byte
      EXPECT_TRUE(step.kind == "pointwise" || step.why_interpreted.find("element type") != std::string::npos)
          << step.why_interpreted;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryOp, testing::ValuesIn(ops::all().begin(), ops::all().end()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace hone::test
