// Every registered op on its sample calls: compiled results against the reference.
#include "codegen/registry.h"
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

// The profile names exactly the ops that have no code generation as interpreted for that reason, or because nothing is
// compiled where shapes depend on data.
TEST_P(EveryOp, SaysWhatIsInterpreted) {
  const OpDef& op = *GetParam();
  const OpCalls calls = calls_of(op);
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
