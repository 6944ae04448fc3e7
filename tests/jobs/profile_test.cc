// The table of steps: its rates are the predicted work over the measured time, and its words follow the peaks.
#include "jobs/profile.h"

#include "jobs/default_inputs.h"
#include "tests/jobs/jobs_fixture.h"

namespace hone {
namespace {

class Profile : public JobsTest {
 protected:
  Record of_encoder(const MachinePeaks& peaks) const {
    Session session(load_model(model).graph, SessionOptions());
    return profile(session, default_inputs(session.graph(), {{"B", 2}, {"S", 16}}, 1), peaks, 1, 3);
  }
};

TEST_F(Profile, EveryStepOfARunHasARow) {
  Session session(load_model(model).graph, SessionOptions());
  const NamedTensors inputs = default_inputs(session.graph(), {{"B", 2}, {"S", 16}}, 1);
  RunProfile run;
  session.run(inputs, &run);
  const Record record = profile(session, inputs, {}, 1, 3);
  const Table& steps = table_of(record, "steps");
  ASSERT_EQ(steps.rows.size(), run.steps.size());
  for (size_t row = 0; row < run.steps.size(); ++row) {
    EXPECT_EQ(text_of(cell(steps, "ops", row)), run.steps[row].ops);
    const double ms = value_of(cell(steps, "ms", row));
    EXPECT_NEAR(value_of(cell(steps, "gflops", row)) * ms * 1e6, run.steps[row].flops, 1e-9 * run.steps[row].flops);
    EXPECT_NEAR(value_of(cell(steps, "gbytes", row)) * ms * 1e6, run.steps[row].bytes, 1e-9 * run.steps[row].bytes);
    EXPECT_TRUE(is_empty(cell(steps, "why", row)));
  }
  EXPECT_EQ(value_of(item(record, "profile", "interpreted_steps")), 0);
}

// Nothing is slower than a machine of a billionth of a GFLOP/s, and nothing can be said without a peak.
TEST_F(Profile, StepsAreBoundByWhatTheyNearlyReach) {
  const auto linear_bound = [&](const MachinePeaks& peaks) {
    const Record record = of_encoder(peaks);
    const Table& steps = table_of(record, "steps");
    for (size_t row = 0; row < steps.rows.size(); ++row)
      if (text_of(cell(steps, "kind", row)) == "gemm") return text_of(cell(steps, "bound", row));
    return std::string("no gemm");
  };
  EXPECT_EQ(linear_bound({.f32_gflops = 1e-9}), "compute");
  EXPECT_EQ(linear_bound({.l2_read_gbytes = 1e-9}), "memory");
  EXPECT_EQ(linear_bound({.f32_gflops = 1e9, .l2_read_gbytes = 1e9}), "overhead");
  EXPECT_EQ(linear_bound({}), "overhead");
}

TEST_F(Profile, InterpretedStepsSayWhy) {
  Session session(test::parse("%x : f32[B,8] = input \"x\" %a = argmax %x {axis=1} return %a"), SessionOptions());
  const Record record = profile(session, {{"x", Tensor(DType::f32, {2, 8})}}, {}, 1, 2);
  const Table& steps = table_of(record, "steps");
  ASSERT_EQ(steps.rows.size(), 1u);
  EXPECT_EQ(text_of(cell(steps, "kind", 0)), "interpreted");
  EXPECT_NE(text_of(cell(steps, "why", 0)), "");
  EXPECT_EQ(value_of(item(record, "profile", "interpreted_steps")), 1);
}

}  // namespace
}  // namespace hone
