// The table of steps: its rates are the predicted work over the measured time, and its words follow the peaks.
#include "views/profile.h"

#include <cmath>
#include <limits>
#include <map>

#include "base/json.h"
#include "jobs/default_inputs.h"
#include "tests/jobs/jobs_fixture.h"

namespace hone {
namespace {

class Profile : public JobsTest {
 protected:
  Record of_encoder(const MachinePeaks& peaks) const {
    Session session(load_model(model).graph, SessionOptions());
    return view_of(profile_session(session, default_inputs(session.graph(), {{"B", 2}, {"S", 16}}, 1), peaks, 1, 0.05));
  }
  static ProfileModelsOptions quick() { return {.open = {.shapes = {.sequence = 16}}, .seconds = 0.1}; }
  static ProfileResult profiled(const std::vector<std::string>& paths, const ProfileModelsOptions& options = quick()) {
    std::vector<Model> models;
    for (const std::string& path : paths) models.push_back(load_model(path));
    return profile_models(models, options);
  }
};

TEST_F(Profile, EveryStepOfARunHasARow) {
  Session session(load_model(model).graph, SessionOptions());
  const NamedTensors inputs = default_inputs(session.graph(), {{"B", 2}, {"S", 16}}, 1);
  RunProfile run;
  session.run(inputs, &run);
  const Record record = view_of(profile_session(session, inputs, {}, 1, 0.05));
  const Table& steps = table_of(record, "steps");
  ASSERT_EQ(steps.rows.size(), run.steps.size());
  double share = 0;
  for (size_t row = 0; row < run.steps.size(); ++row) {
    EXPECT_EQ(text_of(cell(steps, "ops", row)), run.steps[row].ops);
    const double ms = value_of(cell(steps, "ms", row));
    EXPECT_NEAR(value_of(cell(steps, "gflops", row)) * ms * 1e6, run.steps[row].flops, 1e-9 * run.steps[row].flops);
    EXPECT_NEAR(value_of(cell(steps, "gbytes", row)) * ms * 1e6, run.steps[row].bytes, 1e-9 * run.steps[row].bytes);
    share += value_of(cell(steps, "share", row));
  }
  EXPECT_LT(share, 1);  // the rest is in no step
  EXPECT_GT(share, 0.5);
  EXPECT_EQ(value_of(item(record, "profile", "interpreted_steps")), 0);
  EXPECT_GT(value_of(item(record, "profile", "unattributed_ms")), 0);
  EXPECT_TRUE(std::get<Number>(item(record, "profile", "profiler_overhead")).interval);
}

// Nothing is slower than a machine of a billionth of a GFLOP/s, and nothing can be said without a peak.
TEST_F(Profile, StepsAreBoundByThePeakThatAllowsLess) {
  const auto linear_bound = [&](const MachinePeaks& peaks) {
    const Record record = of_encoder(peaks);
    const Table& steps = table_of(record, "steps");
    for (size_t row = 0; row < steps.rows.size(); ++row)
      if (text_of(cell(steps, "kind", row)) == "gemm") return text_of(cell(steps, "bound", row));
    return std::string("no gemm");
  };
  EXPECT_EQ(linear_bound({.f32_gflops = 1e-9, .reads = {{1, 1e9}}}), "compute");
  EXPECT_EQ(linear_bound({.f32_gflops = 1e9, .reads = {{1, 1e-9}}}), "memory");
  EXPECT_EQ(linear_bound({}), "-");
}

TEST_F(Profile, InterpretedStepsSayWhy) {
  Session session(test::parse("%x : f32[B,2,2] = input \"x\" %a = det %x return %a"), SessionOptions());
  const Record record = view_of(profile_session(session, {{"x", Tensor(DType::f32, {2, 2, 2})}}, {}, 1, 0.05));
  EXPECT_EQ(text_of(cell(table_of(record, "steps"), "kind", 0)), "interpreted");
  const Table& slowest = table_of(record, "slowest");
  ASSERT_EQ(slowest.rows.size(), 1u);
  EXPECT_TRUE(text_of(cell(slowest, "why", 0)).starts_with("Interpreted, without machine code: "));
  EXPECT_EQ(value_of(item(record, "profile", "interpreted_steps")), 1);
}

// A slice per step and run, within the slice of its run, and nothing that a JSON parser refuses.
TEST_F(Profile, TheTraceHoldsEveryStepOfTheRunsWithinThem) {
  const ProfileResult result = profiled({model});
  const Json trace = parse_json(trace_of(result), "trace");
  std::map<std::string, int> slices;
  double begin = 0, end = 0;
  for (const Json& event : trace.at("traceEvents")) {
    if (event["ph"] != "X") continue;
    ++slices[event["name"]];
    const double from = event["ts"], to = from + event["dur"].get<double>();
    if (event["name"] == "run") {
      begin = from, end = to;
      continue;
    }
    EXPECT_GE(from, begin);
    EXPECT_LE(to, end + 0.001);
  }
  const std::span<const StepProfile> steps = result.models[0].times.steps();
  ASSERT_GT(slices["run"], 1);
  EXPECT_EQ(slices.size(), steps.size() + 1);
  for (const StepProfile& step : steps) EXPECT_EQ(slices[step.name], slices["run"]);
}

TEST_F(Profile, TwoModelsAreMatchedByTheNamesOfTheirSteps) {
  const ProfileResult result = profiled({model, quantized("mxint8")});
  const Record record = view_of(result);
  const Table &steps = table_of(record, "steps"), &totals = table_of(record, "totals");
  ASSERT_EQ(totals.rows.size(), 2u);
  EXPECT_EQ(value_of(cell(totals, "speed_ratio", 0)), 1);
  EXPECT_GT(value_of(cell(totals, "speed_ratio", 1)), 0);
  double last = std::numeric_limits<double>::infinity();
  int matched = 0;
  for (size_t row = 0; row < steps.rows.size(); ++row) {
    const auto ms = [&](const char* key) {
      return is_empty(cell(steps, key, row)) ? 0 : value_of(cell(steps, key, row));
    };
    const double a = ms("ms_a"), b = ms("ms_b");
    matched += a > 0 && b > 0;
    EXPECT_NEAR(value_of(cell(steps, "difference_ms", row)), b - a, 1e-9);
    EXPECT_LE(std::abs(b - a), last);
    last = std::abs(b - a);
  }
  EXPECT_GT(matched, 3);
  EXPECT_NE(trace_of(result).find("mxint8.safetensors"), std::string::npos);
}

TEST_F(Profile, StepsWithoutAPartnerStandAlone) {
  const std::string one = put_graph("one.safetensors", "%x : f32[64,64] = input \"x\" %a = relu %x return %a as \"y\"");
  const std::string two =
      put_graph("two.safetensors", "%x : f32[64,64] = input \"x\" %b = softmax %x %c = relu %b return %c as \"y\"");
  const Record record = view_of(profiled({one, two}));
  const Table& steps = table_of(record, "steps");
  int alone = 0;
  for (size_t row = 0; row < steps.rows.size(); ++row) alone += is_empty(cell(steps, "ratio", row));
  EXPECT_GE(alone, 1);
}

TEST_F(Profile, OnlyOneOrTwoCompiledModelsAreProfiled) {
  EXPECT_THAT(error_of([&] { profiled({model, model, model}); }), testing::HasSubstr("3 models"));
  ProfileModelsOptions interpreted = quick();
  interpreted.open.session.optimise = 1;
  EXPECT_THAT(error_of([&] { profiled({model}, interpreted); }), testing::HasSubstr("compiled"));
}

}  // namespace
}  // namespace hone
