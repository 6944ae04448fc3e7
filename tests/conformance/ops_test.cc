// Every registered op on its sample calls: compiled results against the reference.
#include "kernels/registry.h"
#include "ops/calls/reshape.h"
#include "ops/registry.h"
#include "tests/conformance/conform.h"
#include "tests/support/op_calls.h"

namespace hone::test {
namespace {

class EveryOp : public testing::TestWithParam<const OpDef*> {};

TEST_P(EveryOp, MatchesTheReferenceOnEveryLevelAndThreadCount) {
  const OpCalls calls = calls_of(*GetParam());
  expect_conforms(calls.graph, calls.inputs);
}

// Operands of one axis, which a reshape gives the shapes that the op is called with.
OpCalls calls_of_views(const OpDef& op) {
  OpCalls calls;
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
  const OpCalls calls = calls_of_views(*GetParam());
  expect_outputs(run_session(calls.graph, calls.inputs, {}), bounded_outputs(calls.graph, calls.inputs), "views");
}

// The profile names exactly the ops that have no code generation as interpreted for that reason, or because nothing is
// compiled where shapes depend on data.
TEST_P(EveryOp, SaysWhatIsInterpreted) {
  const OpDef& op = *GetParam();
  const OpCalls calls = calls_of(op);
  const Ran ran = run_session(calls.graph, calls.inputs, {});
  for (const StepProfile& step : ran.profile.steps) {
    const bool compiled =
        op.view || std::ranges::any_of(kernels::all(), [&](auto* kernel) { return kernel->takes(op); });
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
