// Scales that are given: what the formats themselves choose gives the formats' own bits, packed and rounded agree, and
// the derivatives are those of LSQ.
#include "formats/learned_scale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "base/philox.h"
#include "expr/program.h"
#include "formats/scale.h"
#include "tests/formats/examples.h"

namespace hone {
namespace {

using testing::HasSubstr;

const std::vector<int64_t> kShape{6, 37};

std::vector<float> random_values(uint64_t seed) {
  Philox random(seed);
  std::vector<float> values(6 * 37);
  for (float& v : values) v = random.normal();
  return values;
}

constexpr const char* kScaled[] = {"int8",  "int4.channel",   "int4.g32",        "int4.g2x8",        "int4.g32.s=bf16",
                                   "uint8", "uint4.g32.asym", "mxint8",          "mxint4",           "mxfp4",
                                   "bfp8",  "blog4",          "bminifloat_e4m3", "fp8_e4m3.channel", "mxfp8_e5m2"};

std::vector<float> unpacked(const Format& format, const Planes& p) {
  std::vector<float> y(6 * 37);
  unpack(format, kShape, {p.codes, p.scales, p.zero_points, p.global}, y);
  return y;
}

TEST(LearnedScale, WhatTheFormatChoosesGivesTheFormatsOwnBits) {
  const std::vector<float> values = random_values(1);
  for (const char* name : kScaled) {
    const Format format = parse_format(name);
    const Planes own = pack(format, kShape, values),
                 given = pack_learned(format, kShape, values, chosen_by_format(format, kShape, values));
    EXPECT_EQ(own.codes, given.codes) << name;
    EXPECT_EQ(own.scales, given.scales) << name;
    EXPECT_EQ(own.zero_points, given.zero_points) << name;
  }
}

TEST(LearnedScale, RoundedIsWhatPackedHolds) {
  const std::vector<float> values = random_values(2);
  for (const char* name : kScaled) {
    const Format format = parse_format(name);
    LearnedValues given = chosen_by_format(format, kShape, values);
    const bool is_log2 = format.scale_kind == &pow2_scale;
    for (float& s : given.learned) s = is_log2 ? s - 1.3f : s * 0.71f;
    for (float& z : given.zero_points) z += 1.4f;
    EXPECT_EQ(rounded(format, values, given), unpacked(format, pack_learned(format, kShape, values, given))) << name;
  }
}

TEST(LearnedScale, AStepOfFixedPointIsTheNearestPowerOfTwo) {
  const Format format = parse_format("int8.f4");
  EXPECT_EQ(to_string(with_step(format, 0.0625f)), "int8.f4");
  EXPECT_EQ(to_string(with_step(format, 0.0883f)), "int8.f4");  // 2^-4 sqrt 2 = 0.08839
  EXPECT_EQ(to_string(with_step(format, 0.0885f)), "int8.f3");
  EXPECT_EQ(to_string(with_step(format, 3)), "int8.f-2");
  EXPECT_EQ(to_string(with_step(format, -1)), "int8.f60");  // steps stay above 0
  const std::vector<float> values = random_values(3), given(values.size(), 0.03f);
  std::vector<float> as_format(values.size());
  fake_quantize(with_step(format, 0.03f), kShape, values, as_format);
  EXPECT_EQ(rounded(format, values, {given, {}}), as_format);
}

double by_scale(const char* format, float x, float scale, float zero_point = 0) {
  const auto arg = [](int i) { return Expr::arg(i, Scalar::f32); };
  const Program program = flatten(slope_by_scale(parse_format(format), {arg(0), arg(1), arg(2)}));
  const uint64_t args[] = {std::bit_cast<uint32_t>(x), std::bit_cast<uint32_t>(scale),
                           std::bit_cast<uint32_t>(zero_point)};
  return std::bit_cast<float>(static_cast<uint32_t>(evaluate(program, std::span(args).first(program.args.size()))[0]));
}

// Esser et al.: round(x / s) - x / s within the range, the lowest and highest code beyond it.
TEST(LearnedScale, TheDerivativeByAnF32ScaleIsThatOfLsq) {
  EXPECT_NEAR(by_scale("int4.channel", 0.33f, 0.1f), 3 - 3.3, 1e-6);
  EXPECT_NEAR(by_scale("int4.channel", -0.38f, 0.1f), -4 + 3.8, 1e-6);
  EXPECT_EQ(by_scale("int4.channel", 5, 0.1f), 7);
  EXPECT_EQ(by_scale("int4.channel", -5, 0.1f), -7);
  EXPECT_NEAR(by_scale("uint4.channel.asym", 0.33f, 0.1f, 5), 3 - 3.3, 1e-6);
  EXPECT_EQ(by_scale("uint4.channel.asym", 5, 0.1f, 5), 15 - 5);
  EXPECT_NEAR(by_scale("int8.f4", 0.33f, 0.125f), 3 - 2.64, 1e-6);  // by the step
  EXPECT_EQ(by_scale("int8.f4", 100, 0.125f), 127);
  EXPECT_EQ(by_scale("int8.f4", -100, 0.125f), -128);
  EXPECT_EQ(by_scale("int4.channel", std::nanf(""), 0.1f), 0);
  EXPECT_EQ(by_scale("int4.channel", INFINITY, 0.1f), 0);
}

// d y / d log2 s = s ln 2 (round(x / s) - x / s), and the largest value times s ln 2 beyond the range.
TEST(LearnedScale, TheDerivativeByALog2IsThatOfThePowerOfTwo) {
  EXPECT_NEAR(by_scale("mxint4", 0.3f, -1.2f), 0.5 * std::log(2.0) * (0.5 - 0.6), 1e-6);  // elements in quarters
  EXPECT_NEAR(by_scale("mxint4", 9, -1.2f), 0.5 * std::log(2.0) * 1.75, 1e-6);
}

// Where x is cut off the slope is a true derivative: differences of the values give it.
TEST(LearnedScale, BeyondTheRangeDifferencesGiveTheSameDerivative) {
  const Format format = parse_format("int4.channel");
  const auto y = [&](float x, float s) {
    const float values[] = {x};
    return rounded(format, values, {{s}, {}})[0];
  };
  for (float x : {-3.0f, 2.5f})
    EXPECT_NEAR((y(x, 0.11f) - y(x, 0.09f)) / 0.02, by_scale("int4.channel", x, 0.1f), 1e-4) << x;
}

TEST(LearnedScale, IsRefusedWithTheReasonWhereAFormatHasNone) {
  for (const char* name : kScaled) EXPECT_EQ(no_learned_scale(parse_format(name)), "") << name;
  EXPECT_EQ(no_learned_scale(parse_format("int8.f4")), "");
  EXPECT_THAT(no_learned_scale(parse_format("int8.f4.round=floor")), HasSubstr("rounds down"));
  EXPECT_THAT(no_learned_scale(parse_format("fp8_e4m3")), HasSubstr("has no scale"));
  EXPECT_THAT(no_learned_scale(parse_format("log4")), HasSubstr("has no scale"));
  EXPECT_THAT(no_learned_scale(parse_format("bf16")), HasSubstr("has no scale"));
  EXPECT_THAT(no_learned_scale(parse_format("nvfp4")), HasSubstr("E4M3"));
  for (const char* name : {"binary.channel", "ternary.channel", "rsign2"})
    EXPECT_THAT(no_learned_scale(parse_format(name)), HasSubstr("a mean of magnitudes")) << name;
  EXPECT_THAT(no_learned_scale(parse_format("bfp8.compat=mase")), HasSubstr("another program"));
  for (const char* name : {"uint4.g32.s=fp16.m=fp16", "uint4.g32.s=u6.m=u6", "int6.g16.s=i8", "iq4_nl.s=i6"})
    EXPECT_THAT(no_learned_scale(parse_format(name)), HasSubstr("beside others")) << name;
  EXPECT_THAT(no_learned_scale(parse_format("iq4_nl")), HasSubstr("has a sign"));
}

}  // namespace
}  // namespace hone
