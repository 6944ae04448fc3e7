#include "report/trace.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace hone {
namespace {

const std::vector<StepProfile> kSteps{
    {.name = "h", .kind = "gemm", .ops = "linear+gelu", .flops = 3000, .bytes = 600},
    {.name = "a", .kind = "interpreted", .ops = "argmax", .why_interpreted = "no code"}};

RunProfile run_at(int64_t ns) {
  return {.steps = kSteps, .begin_ns = ns, .end_ns = ns + 9000, .marks_ns = {ns + 1000, ns + 4000, ns + 8000}};
}

TEST(Trace, HasAProcessPerModelAndASlicePerStepAndRun) {
  const std::vector<RunProfile> a{run_at(5'000'000), run_at(6'000'000)}, b{run_at(7'000'000)};
  const TracedModel models[] = {{"a.onnx", a}, {"b.onnx", b}};
  const Json trace = parse_json(trace_text(models), "trace");
  std::vector<std::string> slices;
  for (const Json& event : trace.at("traceEvents"))
    if (event["ph"] == "X")
      slices.push_back(fmt::format("{} {} {} {}+{}", event["pid"].get<int>(), event["cat"].get<std::string>(),
                                   event["name"].get<std::string>(), event["ts"].get<double>(),
                                   event["dur"].get<double>()));
  EXPECT_EQ(slices, (std::vector<std::string>{"1 run run 0+9", "1 gemm h 1+3", "1 interpreted a 4+4",  //
                                              "1 run run 1000+9", "1 gemm h 1001+3", "1 interpreted a 1004+4",
                                              "2 run run 2000+9", "2 gemm h 2001+3", "2 interpreted a 2004+4"}));
}

TEST(Trace, NamesModelsAndCountsRates) {
  const std::vector<RunProfile> runs{run_at(0)};
  const TracedModel model{"a.onnx", runs};
  std::vector<double> rates;
  std::string process;
  const Json trace = parse_json(trace_text({&model, 1}), "trace");
  for (const Json& event : trace.at("traceEvents")) {
    if (event["ph"] == "C") rates.push_back(event["args"]["GFLOP/s"]);
    if (event["name"] == "process_name") process = event["args"]["name"];
  }
  EXPECT_EQ(process, "a.onnx");
  EXPECT_EQ(rates, (std::vector<double>{1, 0}));  // 3000 FLOP in 3000 ns
}

// Names come from foreign files.
TEST(Trace, IsJsonWhateverTheNames) {
  std::vector<StepProfile> steps = kSteps;
  steps[0].name = "a\"b\\\xff\n", steps[1].ops = std::string(1, '\0');
  RunProfile run = run_at(0);
  run.steps = steps;
  const TracedModel model{"\xc3(", {&run, 1}};
  EXPECT_EQ(parse_json(trace_text({&model, 1}), "trace").at("traceEvents").size(), 2u + 1 + 2 * 2);
}

}  // namespace
}  // namespace hone
