// The quantizers of MASE have defects; each test is named after what is right and shows that it holds here. What MASE
// gives instead is in the compat=mase golden vectors (docs/FORMATS.md, section 6) or in the comment.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/formats/examples.h"
#include "tests/formats/golden.h"

namespace hone {
namespace {

std::vector<float> through(const char* format, const std::vector<float>& x) {
  return quantized(parse_format(format), {1, static_cast<int64_t>(x.size())}, x);
}
float through(const char* format, float x) { return through(format, std::vector<float>{x})[0]; }

// Typical trained weights: 64 rows of 128.
const FormatShape kWeights{64, 128};
std::vector<float> weights() {
  Philox random(7);
  std::vector<float> values(64 * 128);
  for (float& v : values) v = 0.04f * random.normal();
  return values;
}
double weights_db(const char* format) {
  return signal_to_noise_db(weights(), quantized(parse_format(format), kWeights, weights()));
}

// 1.0 -> 0.875, 2.0 -> 1.75, 0.5 -> 0.4375 there.
TEST(PredecessorDefects, PowersOfTwoAreExactWithoutAHiddenBit) {
  for (float x : {0.5f, 1.0f, 2.0f, -4.0f}) {
    EXPECT_EQ(through("denorm_e4m3", x), x);
    EXPECT_NE(through("denorm_e4m3.compat=mase", x), x);
  }
}

// Magnitudes up to 1e-8 pass through MASE unquantized.
TEST(PredecessorDefects, TinyMagnitudesAreQuantizedToo) {
  for (const char* format : {"denorm_e4m3", "minifloat_e4m3", "log8.bias20", "int8.f4"})
    EXPECT_EQ(through(format, 1e-9f), 0) << format;
  EXPECT_EQ(through("bfp8", {1, 1e-9f})[1], 0);
  EXPECT_EQ(through("bfp8.compat=mase", {1, 1e-9f})[1], 1e-9f);
}

TEST(PredecessorDefects, ARoundedMantissaCarriesIntoTheExponent) {
  EXPECT_EQ(through("minifloat_e4m3", 0.99f), 1.0f);
  EXPECT_EQ(through("minifloat_e4m3.compat=mase", 0.99f), 0.9375f);
  EXPECT_EQ(through("denorm_e4m3", 0.99f), 1.0f);
}

// The carry is OR-ed into the exponent there: 1.95 -> 1.0, 1.8 -> 1.0, 7.9 -> 4.0.
TEST(PredecessorDefects, TheCarryOfMxElementsIsAddedNotOred) {
  EXPECT_EQ(through("minifloat_e4m3", 1.95f), 2.0f);
  EXPECT_EQ(through("minifloat_e2m1", 1.8f), 2.0f);
  EXPECT_EQ(through("mxfp8_e4m3", {256, 1.95f})[1], 2.0f);
  EXPECT_EQ(through("mxfp4", {4, 1.8f})[1], 2.0f);
  for (float x = 7; x < 8; x += 0.125f) EXPECT_EQ(through("mxfp4", x), 6.0f) << x;
}

// 500 -> 256 there, and without saturation 480 and 114688.
TEST(PredecessorDefects, MxFloatsEndWhereTheirStandardSays) {
  EXPECT_EQ(through("mxfp8_e4m3", 500), 448.0f);
  EXPECT_EQ(through("mxfp8_e5m2", 63000), 57344.0f);
  EXPECT_EQ(through("mxfp6_e2m3", 7.9f), 7.5f);
  EXPECT_EQ(through("mxfp6_e3m2", 31), 28.0f);
}

// Magnitudes of 2^-bias and less become 0 there.
TEST(PredecessorDefects, SubnormalElementsAreKept) {
  EXPECT_EQ(through("minifloat_e4m3", 0x1p-7f), 0x1p-7f);
  EXPECT_EQ(through("minifloat_e4m3", 0x1p-9f), 0x1p-9f);
  EXPECT_EQ(through("mxfp8_e4m3", {256, 0x1p-7f, 0x3p-9f}), (std::vector<float>{256, 0x1p-7f, 0x3p-9f}));
}

TEST(PredecessorDefects, ALogarithmHasACodeForZero) {
  EXPECT_EQ(through("log4", 0), 0.0f);
  EXPECT_EQ(through("log4.compat=mase", 0), 0.125f);
  EXPECT_EQ(through("blog8", {1, 0})[1], 0.0f);
}

// A sample configuration there has bias 128, which caps every magnitude at 0.5.
TEST(PredecessorDefects, TheDefaultBiasOfALogarithmCoversItsData) {
  EXPECT_EQ(through("log8", {1, 4, -8}), (std::vector<float>{1, 4, -8}));
  EXPECT_EQ(through("log8.bias128", 4), 0.5f);
  EXPECT_NEAR(weights_db("log8"), 13.8, 0.3);
}

TEST(PredecessorDefects, ABlockMaximumThatIsAPowerOfTwoIsExact) {
  for (float x : {1.0f, -1.0f, 0.25f, 64.0f})
    for (const char* format : {"bfp8", "bfp4", "mxint8", "mxint4", "int8.channel"}) EXPECT_EQ(through(format, x), x);
  EXPECT_EQ(through("bfp8.compat=mase", 1), 0.9921875f);
  EXPECT_EQ(through("mxint8.compat=mase", 1), 0.9921875f);
  EXPECT_EQ(through("int8.channel.compat=mase", 1), 0.9921875f);
}

// Saturates one sign only there: +1 -> 0.992, -1 exact.
TEST(PredecessorDefects, BothSignsSaturateAlike) {
  for (const char* format : {"mxint8", "mxint4", "bfp8", "int8.channel", "int4.g32"})
    for (float x : {1.0f, 1.999f, 0.7f}) EXPECT_EQ(through(format, -x), -through(format, x)) << format;
}

// Borrows the smallest maximum of other blocks there.
TEST(PredecessorDefects, AGroupOfZerosNeedsNoOtherGroup) {
  std::vector<float> x(32);
  std::fill(x.begin() + 16, x.end(), 1e20f);
  const Format format = parse_format("bfp8");
  const Planes planes = pack(format, FormatShape{1, 32}, x);
  EXPECT_EQ(scale_codes_of(format, FormatShape{1, 32}, golden::view(planes))[0], 0u);
  const std::vector<float> y = quantized(format, {1, 32}, x);
  EXPECT_TRUE(std::all_of(y.begin(), y.begin() + 16, [](float v) { return v == 0; }));
}

// The shared bias is clamped at 0 and has its sign inverted there: 0.03 dB.
TEST(PredecessorDefects, ABlockMinifloatSharesASignedBias) {
  EXPECT_NEAR(weights_db("bminifloat_e4m3"), 31.4, 0.3);
  EXPECT_NEAR(weights_db("bminifloat_e4m3.e5"), 31.4, 0.3);
  EXPECT_LT(weights_db("bminifloat_e4m3.e4.compat=mase"), 1);
}

// A narrow shared exponent makes small weights larger there: -8 dB with 2 bits, -22 dB with 1.
TEST(PredecessorDefects, ANarrowSharedExponentNeverMakesSmallValuesLarger) {
  for (const char* format : {"blog8.e2", "blog8.e3", "blog8.e5", "blog8"}) {
    EXPECT_NEAR(weights_db(format), 13.8, 0.3) << format;
    const std::vector<float> x = weights(), y = quantized(parse_format(format), kWeights, x);
    for (size_t i = 0; i < x.size(); ++i) EXPECT_LE(std::abs(y[i]), 1.4143f * std::abs(x[i])) << format;
  }
  EXPECT_LT(weights_db("blog8.e2.compat=mase"), 0);
}

// The width of the shared exponent is taken for a number of fraction bits there: 1.5 -> 0.992 with 4 bits, 6e-8 with 6.
TEST(PredecessorDefects, TheWidthOfTheSharedExponentLeavesElementsAlone) {
  for (const char* format : {"bfp8.e4", "bfp8.e6", "bfp8"})
    EXPECT_EQ(through(format, {1.5f, 0.25f}), (std::vector<float>{1.5f, 0.25f})) << format;
}

// Tiles must divide the tensor there, and a tile of zeros takes the logarithm of 0.
TEST(PredecessorDefects, TilesNeedNotDivideTheTensor) {
  const Format format = parse_format("bfp8.g4x8");
  std::vector<float> x(5 * 13);
  x[64] = 3;  // alone in its tile; the others are zeros
  EXPECT_EQ(quantized(format, {5, 13}, x), x);
}

// [16] means 16 columns of all rows there, so one outlier takes the precision of every row.
TEST(PredecessorDefects, AGroupStaysInItsRow) {
  std::vector<float> x(64, 0.01f);
  x[0] = 1000;
  const std::vector<float> rows = quantized(parse_format("bfp8"), {4, 16}, x);
  const std::vector<float> tiles = quantized(parse_format("bfp8.g0x16"), {4, 16}, x);
  EXPECT_NEAR(rows[20], 0.01f, 1e-4f);
  EXPECT_EQ(tiles[20], 0);  // what the string for it says
}

// 4-D tensors are refused by block formats there, all others by binary and ternary.
TEST(PredecessorDefects, EveryFormatTakesEveryRank) {
  for (const char* text : {"bfp8", "bminifloat_e4m3", "blog8", "mxint8", "mxfp4", "nvfp4", "int4.g32", "bfp8.tensor",
                           "binary", "binary.channel", "ternary", "ternary.channel", "rsign2", "denorm_e4m3", "log8"})
    for (const FormatShape& shape : {FormatShape{24}, FormatShape{4, 6}, FormatShape{2, 3, 4}, FormatShape{2, 2, 3, 2}})
      for (float y : quantized(parse_format(text), shape, std::vector<float>(24, 1.0f))) EXPECT_FLOAT_EQ(y, 1) << text;
}

// The scale is commented out for linear layers there.
TEST(PredecessorDefects, BinaryScalingScalesEveryRowOfAMatrix) {
  const std::vector<float> x{1, -3, 2, -2, 0.5f, 0.5f, -0.25f, 0.75f};
  EXPECT_EQ(quantized(parse_format("binary.channel"), {2, 4}, x),
            (std::vector<float>{2, -2, 2, -2, 0.5f, 0.5f, -0.5f, 0.5f}));
}

// A threshold that is passed is ignored there, and the scale mixes rows.
TEST(PredecessorDefects, TernaryHasAThresholdAndAScaleForEveryRow) {
  const std::vector<float> x{4, -4, 1, 0, 0.4f, -0.8f, 0.1f, 0};
  // Means 2.25 and 0.325, thresholds 1.6875 and 0.24375.
  const std::vector<float> expected{4, -4, 0, 0, 0.6f, -0.6f, 0, 0};
  const std::vector<float> y = quantized(parse_format("ternary.channel"), {2, 4}, x);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_FLOAT_EQ(y[i], expected[i]) << i;
}

// Levels of 2 and more return something of another shape there.
TEST(PredecessorDefects, EveryLevelOfResidualSignsComesCloser) {
  const std::vector<float> x{3, -1, 0.5f, -2.5f};
  EXPECT_EQ(through("rsign1.tensor", x), (std::vector<float>{1.75f, -1.75f, 1.75f, -1.75f}));
  // Residuals 1.25, 0.75, -1.25, -0.75: mean 1.
  EXPECT_EQ(through("rsign2.tensor", x), (std::vector<float>{2.75f, -0.75f, 0.75f, -2.75f}));
  // Residuals 0.25, -0.25, -0.25, 0.25.
  EXPECT_EQ(through("rsign3.tensor", x), (std::vector<float>{3, -1, 0.5f, -2.5f}));
}

// The search for a scale compares integer codes there.
TEST(PredecessorDefects, TheSearchForAScaleComparesValues) {
  for (const auto& [searched, plain] :
       {std::pair("mxfp4.rule=mse", "mxfp4"), {"mxint4.rule=mse", "mxint4"}, {"bfp4.rule=mse", "bfp4"}})
    EXPECT_GT(weights_db(searched), weights_db(plain) + 0.1) << searched;
}

// int(8,4) counts 12 bits there, minifloats and blocks are a TypeError, shared exponents are free.
TEST(PredecessorDefects, BitsAreThoseThatAreStored) {
  const std::pair<const char*, double> table[] = {{"int8.f4", 8},           {"minifloat_e4m3", 8}, {"bfp8", 8.5},
                                                  {"bminifloat_e4m3", 8.5}, {"mxint8", 8.25},      {"log8", 8}};
  for (const auto& [format, bits] : table) {
    EXPECT_EQ(nominal_bits(parse_format(format)), bits) << format;
    const double stored = 8.0 * static_cast<double>(plane_bytes(parse_format(format), kWeights).total());
    EXPECT_EQ(stored / (64 * 128), bits) << format;
  }
}

// A mistyped key of a configuration is ignored there.
TEST(PredecessorDefects, AMistypedOptionIsAnError) {
  for (const char* text : {"bfp8.exponent8", "int8.frac4", "mxint8.block32"})
    EXPECT_THROW(parse_format(text), FormatError) << text;
}

}  // namespace
}  // namespace hone
