#include "passes/compress/nonfinite.h"

#include <gtest/gtest.h>

#include <cmath>

#include "passes/pipelines.h"
#include "tests/passes/quantized_graphs.h"

namespace hone {
namespace {

using test::error_of;
using test::with_rules;

Graph with_values_that_are_not_finite() {
  return test::parse(R"(
    %x : f32[B,2] = input
    %w : f32[3,2] = const "bad.weight" {nan, -inf, 2, inf, -4, 1}
    %v : f32[3,3] = const "good.weight" {1, 2, 3, 4, 5, 6, 7, 8, 9}
    %y = linear %x, %w
    %z = linear %y, %v
    return %z)");
}

TEST(RepairNonfinite, RefusesWithNamesAndCountsByDefault) {
  FormatRules options = with_rules({"op:linear=mxint8"});
  const std::string message =
      error_of([&] { run_pass(with_values_that_are_not_finite(), "repair_nonfinite", {options}); });
  EXPECT_NE(message.find("bad.weight: 1 NaN and 2 infinite of 6 values"), std::string::npos) << message;
  EXPECT_EQ(message.find("good.weight"), std::string::npos);
  options.skip = {"bad"};
  EXPECT_EQ(error_of([&] { run_pass(with_values_that_are_not_finite(), "repair_nonfinite", {options}); }), "");
}

TEST(RepairNonfinite, SaturatesToTheLargestFiniteMagnitudeOrKeeps) {
  QuantizeOptions options{with_rules({"op:linear=mxint8"})};
  const Graph repaired = run_pass(with_values_that_are_not_finite(), "repair_nonfinite",
                                  {PassOptions(FormatRules(options), NonfiniteOptions{"saturate"})});
  EXPECT_EQ(repaired.constant(repaired.find_constant("bad.weight"))->to_floats(),
            (std::vector<float>{0, -4, 2, 4, -4, 1}));
  options.on_nonfinite = "keep";
  const Graph kept = quantize(with_values_that_are_not_finite(), options);
  const std::vector<float> values = kept.constant(kept.find_constant("bad.weight"))->to_floats();
  EXPECT_TRUE(std::isnan(values[0]) && std::isnan(values[3]));  // their blocks, which are rows here
  EXPECT_EQ(values[4], -4);
  EXPECT_NE(error_of([] { parse_on_nonfinite("ignore"); }).find("accepted: error, saturate, keep"), std::string::npos);
}

}  // namespace
}  // namespace hone
