// Minimums, scales of scales and tables (docs/FORMATS.md, sections 4.4 and 5.14).
#include <gtest/gtest.h>

#include <limits>

#include "base/float_bits.h"
#include "tests/formats/examples.h"
#include "tests/formats/golden.h"

namespace hone {
namespace {

const char* const kTwoLevel[] = {"uint2.g16.s=u4.m=u4", "int3.g16.s=i6", "uint4.g32.s=u6.m=u6",
                                 "uint5.g32.s=u6.m=u6", "int6.g16.s=i8", "iq4_nl.s=i6"};

std::vector<float> decoded(const Format& format, const FormatShape& shape, const Planes& planes, size_t elems) {
  std::vector<float> values(elems);
  unpack(format, shape, golden::view(planes), values);
  return values;
}

TEST(Minimums, ARangeFarFromZeroIsCovered) {
  const Format format = parse_format("uint4.g32.s=fp16.m=fp16");
  std::vector<float> x(32);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 100 + static_cast<float>(i % 16);
  EXPECT_EQ(quantized(format, {32}, x), x);
}

TEST(Minimums, AGroupOfOneValueIsThatValue) {
  for (float v : {0.0f, -3.5f, 0.25f})
    EXPECT_EQ(quantized(parse_format("uint5.g32.s=fp16.m=fp16"), {32}, std::vector<float>(32, v)),
              std::vector<float>(32, v));
}

// Scales 31 and 1 of the largest magnitude over 31, in two groups of a super-block.
TEST(TwoLevels, AScaleIsAMultipleOfThatOfItsSuperBlock) {
  const Format format = parse_format("int3.g16.s=i6");
  std::vector<float> x(256);
  x[0] = 3 * 31, x[16] = -3 * 1, x[17] = 2;
  const Planes planes = pack(format, FormatShape{256}, x);
  EXPECT_EQ(outer_codes_of(format, FormatShape{256}, golden::view(planes)), (std::vector<uint32_t>{0x3c00}));  // 1
  const std::vector<uint32_t> scales = scale_codes_of(format, FormatShape{256}, golden::view(planes));
  EXPECT_EQ(scales[0], 32u + 31);
  EXPECT_EQ(scales[1], 32u + 1);
  EXPECT_EQ(scales[2], 32u);
  EXPECT_EQ(decoded(format, {256}, planes, 256), x);
}

TEST(TwoLevels, AGroupFarBelowItsSuperBlockIsNotFlushedToZero) {
  for (const char* name : {"int6.g16.s=i8", "uint4.g32.s=u6.m=u6", "iq4_nl.s=i6"}) {
    std::vector<float> x(256, 0.0f);
    x[0] = 100, x[64] = 0.3f;
    EXPECT_GT(quantized(parse_format(name), {256}, x)[64], 0.0f) << name;
  }
}

TEST(TwoLevels, ZerosStayZeros) {
  for (const char* name : kTwoLevel)
    EXPECT_EQ(quantized(parse_format(name), {256}, std::vector<float>(256)), std::vector<float>(256)) << name;
}

TEST(TwoLevels, ARowNeedNotFillItsLastSuperBlock) {
  for (const char* name : kTwoLevel) {
    const Format format = parse_format(name);
    const FormatShape shape{3, 576};
    Philox random(3);
    const std::vector<float> x = lognormal_values(random, 3 * 576);
    const Planes planes = pack(format, shape, x);
    EXPECT_EQ(planes.global.size(), 3u * 3 * 2 * static_cast<size_t>(scales_per_group(format))) << name;
    EXPECT_GT(signal_to_noise_db(x, decoded(format, shape, planes, x.size())), 2) << name;
    EXPECT_EQ(decoded(format, shape, planes, x.size()), quantized(format, shape, x)) << name;
  }
}

TEST(TwoLevels, PlanesAreAssembledFromTheirParts) {
  for (const std::string& name : packable_examples()) {
    const Format format = parse_format(name);
    if (!is_two_level(format) && !has_minimum(format)) continue;
    const FormatShape shape{2, 300};
    Philox random(4);
    const Planes planes = pack(format, shape, lognormal_values(random, 600));
    const PlaneView view = golden::view(planes);
    const Planes again = planes_of(format, shape, codes_of(format, shape, view), scale_codes_of(format, shape, view),
                                   {}, 0, outer_codes_of(format, shape, view));
    EXPECT_EQ(again.codes, planes.codes) << name;
    EXPECT_EQ(again.scales, planes.scales) << name;
    EXPECT_EQ(again.global, planes.global) << name;
  }
}

// Every integer and a scale of 11 bits times every code: nothing is rounded but the sum with the minimum.
TEST(TwoLevels, DecodingRoundsOnce) {
  const Format format = parse_format("uint5.g32.s=u6.m=u6");
  std::vector<uint32_t> codes(256), scales, outer{0x3bff, 0x4fff};  // 0.99951171875 and 31.984375
  for (uint32_t g = 0; g < 8; ++g) scales.insert(scales.end(), {63 - g, 8 * g + 7});
  for (uint32_t i = 0; i < 256; ++i) codes[i] = i % 32;
  const Planes planes = planes_of(format, FormatShape{256}, codes, scales, {}, 0, outer);
  const std::vector<float> y = decoded(format, {256}, planes, 256);
  const double s = f16_to_f32(0x3bff), m = f16_to_f32(0x4fff);
  for (uint32_t i = 0; i < 256; ++i)
    EXPECT_EQ(y[i], static_cast<float>(s * scales[i / 32 * 2] * (i % 32) - m * scales[i / 32 * 2 + 1])) << i;
}

TEST(Tables, TheLargerSideOfAGroupTakesTheLongerSideOfTheTable) {
  const Format format = parse_format("iq4_nl");
  std::vector<float> x(32);
  x[0] = 127, x[1] = -113;
  const Planes planes = pack(format, FormatShape{32}, x);
  EXPECT_EQ(scale_codes_of(format, FormatShape{32}, golden::view(planes)), (std::vector<uint32_t>{0xbf800000}));  // -1
  const std::vector<float> y = decoded(format, {32}, planes, 32);
  EXPECT_EQ(y[0], 127);
  EXPECT_EQ(y[1], -113);
}

std::string code_of(const char* text) {
  try {
    parse_format(text);
  } catch (const FormatError& error) {
    return error.code;
  }
  return "none";
}

TEST(ScaleTypes, WhatDoesNotGoTogetherIsRefused) {
  EXPECT_EQ(code_of("uint4.g32.s=u6.m=u6"), "none");
  for (const char* text :
       {"uint4.g32.m=fp16", "uint4.g32.s=u6", "uint4.g32.s=u6.m=u4", "int4.g32.s=fp16.m=fp16", "uint4.g32.s=i8",
        "int4.s=i6", "int4.g48.s=i6", "int8.g32.s=i8", "uint4.g32.s=fp16.m=fp16.asym", "uint4.s=fp16.m=fp16",
        "uint12.g32.s=fp16.m=fp16", "iq4_nl.s=fp16.m=fp16", "uint4.g32.s=bf16.m=bf16", "iq4_nl.channel.s=i6"})
    EXPECT_EQ(code_of(text), "E_CONFLICT") << text;
  EXPECT_EQ(code_of("fp8_e4m3.g32.s=i8"), "E_VALUE");
  EXPECT_EQ(code_of("int4.g32.s=u8"), "E_VALUE");
  EXPECT_EQ(code_of("mxint8.m=u6"), "E_OPT");
}

}  // namespace
}  // namespace hone
