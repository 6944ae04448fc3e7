// That results on the device `steps` come of its own code: a device that leaves all to the host, or to the interpreter,
// must fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "device/steps/device.h"
#include "ops/registry.h"
#include "runtime/session.h"
#include "tests/passes/parse_ops.h"
#include "tests/support/op_calls.h"

namespace hone::test {
namespace {

SessionOptions on_steps() {
  SessionOptions options;
  options.device = std::make_shared<StepsDevice>();
  options.compute = Compute::f32;
  return options;
}

struct Steps {
  int64_t own = 0;
  std::vector<std::string> why_not;  // of the others
};
Steps steps_of(const Graph& graph, const NamedTensors& inputs) {
  Session session(graph, on_steps());
  RunProfile profile;
  session.run(inputs, &profile);
  Steps steps;
  for (const StepProfile& step : profile.steps)
    if (std::string why = step.why_interpreted + step.why_on_host; why.empty()) ++steps.own;
    else steps.why_not.push_back(std::move(why));
  return steps;
}

int64_t launches() {
  int64_t sum = 0;
  for (const StepsKernel* kernel : kStepsKernels) sum += steps_tally().runs(kernel->kernel().name);
  return sum;
}

// What is pointwise runs by its own code, unless an element type is none that it computes with, or passes take it out.
TEST(StepsDevice, RunsEveryPointwiseOpByItsOwnCode) {
  for (const OpDef* op : ops::all()) {
    if (!op->pointwise) continue;
    SCOPED_TRACE(op->name);
    const OpCalls calls = calls_of(*op);
    const int64_t before = launches();
    const Steps steps = steps_of(calls.graph, calls.inputs);
    EXPECT_EQ(launches() - before, steps.own);  // the profile says what the device counted
    for (const std::string& why : steps.why_not)
      EXPECT_TRUE(why.find(kDoubles) != why.npos || why.find("element type") != why.npos ||
                  why.find("no elements") != why.npos)
          << why;
  }
}

// And a graph of its classes alone needs nobody else: what would be left to others is an Error here.
TEST(StepsDevice, NeedsNobodyForItsClasses) {
  SessionOptions options = on_steps();
  options.no_fallback = true;
  Session session(parse(R"(graph g {
    %i : i64[N] = input "i"
    %x : f32[2,N] = input "x"
    %table : f32[3,2] = const "table" {1, 2, 3, 4, 5, 6}
    %rows = gather %table, %i
    %t = transpose %x
    %sum = add %rows, %t
    %y = gelu %sum
    return %y as "y", %sum as "sum"
  })"),
                  options);
  const int64_t gathers = steps_tally().runs("gather"), loops = steps_tally().runs("pointwise");
  const std::vector<Tensor> got = session.run(
      {{"i", Tensor::of<int64_t>({3}, {2, 0, -2})}, {"x", Tensor::of<float>({2, 3}, {10, 20, 30, 40, 50, 60})}});
  EXPECT_EQ(got[1].to_floats(), (std::vector<float>{15, 46, 21, 52, 33, 64}));
  EXPECT_EQ(steps_tally().runs("gather") - gathers, 1);
  EXPECT_GT(steps_tally().runs("pointwise") - loops, 0);
}

TEST(StepsDevice, WithoutFallbackRefusesOtherClasses) {
  SessionOptions options = on_steps();
  options.no_fallback = true;
  const Graph graph = parse(R"(graph g {
    %x : f32[2,3] = input "x"
    %w : f32[3,3] = const "w" {1, 2, 3, 4, 5, 6, 7, 8, 9}
    %y = matmul %x, %w
    return %y as "y"
  })");
  const std::string error = error_of([&] {
    Session session(graph, options);
    session.run({{"x", Tensor(DType::f32, {2, 3})}});
  });
  EXPECT_NE(error.find("steps has no gemm kernels"), std::string::npos) << error;
}

// Where the environment chose the device for all ops: each of its implementations ran, and each of its reasons to
// refuse what graphs can ask for was given.
class OwnCodeRan : public testing::Environment {
 public:
  void TearDown() override {
    const char* chosen = std::getenv("HONE_TEST_DEVICE");
    if (!chosen || std::string_view(chosen) != "steps" || !ran_all_ops()) return;
    for (const StepsKernel* kernel : kStepsKernels)
      EXPECT_GT(steps_tally().runs(kernel->kernel().name), 0) << kernel->kernel().name << " never ran on the device";
    for (const char* why : {kPackedTables, kDoubles})
      EXPECT_GT(steps_tally().refusals(why), 0) << "nothing was refused for \"" << why << '"';
  }

 private:
  static bool ran_all_ops() {
    const testing::UnitTest& program = *testing::UnitTest::GetInstance();
    for (int i = 0; i < program.total_test_suite_count(); ++i)
      if (const testing::TestSuite* suite = program.GetTestSuite(i);
          std::string_view(suite->name()) == "Registry/EveryOp")
        return suite->test_to_run_count() >= std::ssize(ops::all());
    return false;
  }
};
[[maybe_unused]] const testing::Environment* const own_code_ran = testing::AddGlobalTestEnvironment(new OwnCodeRan);

}  // namespace
}  // namespace hone::test
