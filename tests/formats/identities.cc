// One scheme: formats that are the same by another name (docs/FORMATS.md, section 2).
#include <gtest/gtest.h>

#include <set>

#include "tests/formats/examples.h"
#include "tests/formats/golden.h"

namespace hone {
namespace {

const FormatShape kShape{6, 80};

std::vector<float> sample() {
  Philox random(11);
  return lognormal_values(random, 480);
}

Planes packed(const char* format) { return pack(parse_format(format), kShape, sample()); }

std::vector<uint32_t> codes(const char* format) {
  return codes_of(parse_format(format), kShape, golden::view(packed(format)));
}

void expect_same_bytes(const char* a, const char* b) {
  EXPECT_EQ(packed(a).codes, packed(b).codes) << a << " " << b;
  EXPECT_EQ(packed(a).scales, packed(b).scales) << a << " " << b;
}

TEST(Identities, BlockFloatingPointIsMxintWithOtherDefaults) {
  expect_same_bytes("bfp8.g32", "mxint8");
  expect_same_bytes("bfp4.g32.rule=mse", "mxint4.rule=mse");
  expect_same_bytes("mxint8.g16", "bfp8");
}

TEST(Identities, ABlockMinifloatIsAnMxFloatWithAnotherZeroOfItsExponent) {
  const Format block = parse_format("bminifloat_e3m2.g32"), mx = parse_format("mxfp6_e3m2");
  EXPECT_EQ(codes("bminifloat_e3m2.g32"), codes("mxfp6_e3m2"));
  const auto a = scale_codes_of(block, kShape, golden::view(packed("bminifloat_e3m2.g32"))),
             b = scale_codes_of(mx, kShape, golden::view(packed("mxfp6_e3m2")));
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i], b[i] + 4);
  EXPECT_EQ(quantized(block, kShape, sample()), quantized(mx, kShape, sample()));
}

TEST(Identities, OneLevelOfResidualSignsIsBinary) {
  expect_same_bytes("rsign1.g16", "binary.g16");
  expect_same_bytes("rsign1", "binary.channel");
}

TEST(Identities, ADenormGridIsThatOfAMinifloatWithOneBitLessAndOneMoreBinade) {
  const auto magnitudes = [](const char* format) {
    std::set<double> values;
    for (double v : code_values(parse_format(format))) values.insert(std::abs(v));
    return values;
  };
  // Both reach up to 224; the denorm's steps go down to 2^-10, the minifloat's to 2^-9.
  const std::set<double> denorm = magnitudes("denorm_e4m3"), minifloat = magnitudes("minifloat_e4m2.bias8");
  for (double v : minifloat) EXPECT_TRUE(denorm.contains(v)) << v;
  std::set<double> more;
  for (double v : denorm)
    if (!minifloat.contains(v)) more.insert(v);
  EXPECT_EQ(more, (std::set<double>{0x1p-10, 0x3p-10, 0x5p-10, 0x7p-10}));
}

TEST(Identities, AColumnTileOfOneRowIsAGroup) {
  EXPECT_TRUE(parse_format("int4.g1x32") == parse_format("int4.g32"));
  expect_same_bytes("bfp8.g1x16", "bfp8");
}

}  // namespace
}  // namespace hone
