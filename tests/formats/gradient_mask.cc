#include "formats/gradient_mask.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "expr/program.h"
#include "tests/formats/examples.h"

namespace hone {
namespace {

bool passes(const char* format, float x) {
  const Program program = flatten(gradient_mask(parse_format(format), Expr::arg(0, Scalar::f32)));
  const uint64_t arg = std::bit_cast<uint32_t>(x);
  return evaluate(program, {&arg, 1})[0] != 0;
}

TEST(GradientMask, AFixedRangePassesWhatLiesInItBothEndsIncluded) {
  EXPECT_TRUE(passes("int8.f4", 7.9375f));
  EXPECT_FALSE(passes("int8.f4", std::nextafter(7.9375f, 8.0f)));
  EXPECT_TRUE(passes("int8.f4", -8));
  EXPECT_FALSE(passes("int8.f4", std::nextafter(-8.0f, -9.0f)));
  EXPECT_FALSE(passes("uint8.f6", -0.01f));
  EXPECT_TRUE(passes("minifloat_e4m3", -480));
  EXPECT_FALSE(passes("minifloat_e4m3", 481));
  EXPECT_TRUE(passes("fp16", 65504));
  EXPECT_FALSE(passes("fp16", 65505));
  EXPECT_TRUE(passes("fp32", 3e38f));
}

TEST(GradientMask, UnscaledSignsPassFromMinusOneToOne) {
  for (const char* format : {"binary", "ternary"}) {
    for (float x : {-1.0f, 0.0f, 1.0f}) EXPECT_TRUE(passes(format, x)) << format;
    for (float x : {-1.001f, 1.001f}) EXPECT_FALSE(passes(format, x)) << format;
  }
}

TEST(GradientMask, AScaleThatFollowsTheDataPassesEveryFiniteElement) {
  for (const std::string& text : packable_examples()) {
    if (!has_scale(parse_format(text))) continue;
    for (float x : {-3e38f, 0.0f, 1e30f}) EXPECT_TRUE(passes(text.c_str(), x)) << text;
  }
}

TEST(GradientMask, NothingPassesAtNanAndInfinity) {
  for (const std::string& text : example_formats())
    for (float x : {NAN, INFINITY, -INFINITY}) EXPECT_FALSE(passes(text.c_str(), x)) << text;
}

}  // namespace
}  // namespace hone
