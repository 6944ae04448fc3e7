// Accuracy on normal data, against the table of docs/FORMATS.md, section 9.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/formats/examples.h"

namespace hone {
namespace {

struct Row {
  const char* format;
  double at_1, at_004;  // dB on N(0, 1) and N(0, 0.04^2)
};
constexpr Row kTable[] = {{"fp16", 73.6, 73.7},
                          {"bf16", 55.6, 55.6},
                          {"fp8_e4m3", 31.5, 31.2},
                          {"fp8_e5m2", 25.5, 25.5},
                          {"fp8_e4m3.channel", 31.6, 31.6},
                          {"minifloat_e4m3", 31.5, 31.2},
                          {"minifloat_e3m4", 37.4, 18.9},
                          {"minifloat_e5m2", 25.5, 25.5},
                          {"minifloat_e2m1", 16.4, 0.0},
                          {"denorm_e4m3", 25.5, 25.5},
                          {"denorm_e3m4", 31.5, 24.9},
                          {"int16.f8", 59.0, 31.0},
                          {"int8.f4", 34.9, 6.9},
                          {"int4.f2", 16.5, 0.0},
                          {"int8", 39.8, 39.8},
                          {"int8.channel", 42.6, 42.6},
                          {"int8.g32", 45.4, 45.4},
                          {"int4.channel", 17.4, 17.4},
                          {"int4.g128", 18.6, 18.6},
                          {"int4.g32", 20.3, 20.3},
                          {"int4.g32.s=bf16", 20.3, 20.3},
                          {"uint4.g32.asym", 21.8, 21.8},
                          {"int3.g16", 14.0, 14.0},
                          {"log8", 13.8, 13.7},
                          {"log4", 13.8, 0.0},
                          {"blog8", 13.8, 13.7},
                          {"blog4", 13.8, 13.7},
                          {"bfp12", 66.9, 67.2},
                          {"bfp8", 42.8, 43.1},
                          {"bfp4", 18.6, 19.0},
                          {"bminifloat_e4m3", 31.3, 31.4},
                          {"bminifloat_e2m3", 31.0, 31.1},
                          {"bminifloat_e2m1", 18.6, 18.7},
                          {"mxint8", 41.7, 42.4},
                          {"mxint6", 29.6, 30.4},
                          {"mxint4", 17.6, 18.3},
                          {"mxint4.rule=mse", 18.2, 18.7},
                          {"mxfp8_e4m3", 30.6, 30.7},
                          {"mxfp8_e4m3.rule=rceil", 31.5, 31.5},
                          {"mxfp8_e5m2", 25.3, 25.4},
                          {"mxfp6_e2m3", 30.9, 31.1},
                          {"mxfp6_e3m2", 25.3, 25.4},
                          {"mxfp4", 18.8, 18.8},
                          {"mxfp4.rule=even", 19.0, 19.0},
                          {"mxfp4.rule=mse", 19.0, 19.1},
                          {"nvfp4", 20.4, 20.4},
                          {"binary", 3.9, -27.7},
                          {"binary.channel", 4.4, 4.4},
                          {"rsign1.g32", 4.5, 4.5},
                          {"rsign2.g32", 9.1, 9.1},
                          {"rsign3.g32", 12.8, 12.8},
                          {"rsign3", 12.3, 12.3},
                          {"ternary", 6.7, -24.9},
                          {"ternary.channel", 7.2, 7.2}};

// 256 channels of 512 values. The largest magnitude decides the scale of a whole tensor and varies between samples; the
// table's sample had 4.5.
std::vector<float> normal_values(float deviation) {
  Philox random(1);
  std::vector<float> values(256 * 512);
  for (float& v : values) v = deviation * std::clamp(random.normal(), -4.5f, 4.5f);
  values[0] = deviation * 4.5f;
  return values;
}

double signal_to_noise(const Format& format, const std::vector<float>& x) {
  return signal_to_noise_db(x, quantized(format, {256, 512}, x));
}

TEST(SignalToNoise, IsThatOfTheTableWithin0Point3Db) {
  const std::vector<float> wide = normal_values(1), narrow = normal_values(0.04f);
  for (const Row& row : kTable) {
    const Format format = parse_format(row.format);
    EXPECT_NEAR(signal_to_noise(format, wide), row.at_1, 0.3) << row.format;
    EXPECT_NEAR(signal_to_noise(format, narrow), row.at_004, 0.3) << row.format << " at 0.04";
  }
}

TEST(NominalBits, CountScalesAndZeroPoints) {
  const std::pair<const char*, double> table[] = {{"fp32", 32},
                                                  {"bf16", 16},
                                                  {"fp8_e4m3.channel", 8},
                                                  {"int8", 8},
                                                  {"int8.g32", 9},
                                                  {"int4.g128", 4.25},
                                                  {"int3.g16", 5},
                                                  {"mxint8", 8.25},
                                                  {"uint4.g32.asym", 5.25},
                                                  {"mxfp4.g16", 4.5},
                                                  {"int4.g2x8", 6},
                                                  {"minifloat_e3m4", 8},
                                                  {"uint4.g32.s=fp16.m=fp16", 5},
                                                  {"uint2.g16.s=u4.m=u4", 2.625},
                                                  {"int3.g16.s=i6", 3.4375},
                                                  {"uint4.g32.s=u6.m=u6", 4.5},
                                                  {"uint5.g32.s=u6.m=u6", 5.5},
                                                  {"int6.g16.s=i8", 6.5625},
                                                  {"iq4_nl.s=fp16", 4.5},
                                                  {"iq4_nl.s=i6", 4.25}};
  for (const auto& [format, bits] : table) EXPECT_EQ(nominal_bits(parse_format(format)), bits) << format;
}

// At large sizes the bytes of the planes approach the nominal bits.
TEST(NominalBits, AreWhatALargeTensorCosts) {
  const FormatShape shape{4096, 4096};
  for (const std::string& text : packable_examples()) {
    const Format format = parse_format(text);
    const double bits = 8.0 * static_cast<double>(plane_bytes(format, shape).total()) / (4096.0 * 4096.0);
    EXPECT_NEAR(bits, nominal_bits(format), 0.025) << text;  // at most three f32 scales in a channel of 4096 values
  }
}

}  // namespace
}  // namespace hone
