// What users and damaged files can hand to formats: strings, shapes, values, planes.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tests/formats/examples.h"
#include "tests/formats/golden.h"

namespace hone {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity(),
                kMax = std::numeric_limits<float>::max();

struct Fault {
  std::string code, text;
  size_t position = 0;
};

template <class F>
Fault fault_of(F&& fn) {
  try {
    fn();
  } catch (const FormatError& error) {
    return {error.code, error.what(), error.position};
  }
  return {"none", "", 0};
}

TEST(BadFormatStrings, TheErrorPointsAtTheOffendingCharacter) {
  struct Row {
    const char *text, *code;
    size_t position;
  };
  const Row rows[] = {{"bfp17", "E_WIDTH", 3},
                      {"bfp8.g16.e9", "E_VALUE", 9},
                      {"bfp8.f4", "E_OPT", 5},
                      {"bfp08", "E_SYNTAX", 3},
                      {"bfp", "E_AMBIG", 0},
                      {"log9", "E_WIDTH", 3},
                      {"log8.g16", "E_OPT", 5},
                      {"log8.bias200", "E_EXACT", 5},
                      {"blog8.rule=mse", "E_OPT", 6},
                      {"denorm_e8m3", "E_WIDTH", 8},
                      {"denorm_e4m3.bias147", "E_EXACT", 12},
                      {"bminifloat_e4m3.bias2", "E_OPT", 16},
                      {"nvfp4.rule=mse", "E_OPT", 6},
                      {"nvfp4.s=bf16", "E_OPT", 6},
                      {"binary2", "E_HEAD", 0},
                      {"binary.s=bf16", "E_CONFLICT", 7},
                      {"fp8_e4m3.s=fp16", "E_CONFLICT", 9},
                      {"int8.f4.s=fp16", "E_CONFLICT", 8},
                      {"int4.g32.s=f16", "E_VALUE", 9},
                      {"int4.g32.s=fp16.s=bf16", "E_DUP", 16},
                      {"mxint8.s=fp16", "E_OPT", 7},
                      {"rsign0", "E_WIDTH", 5},
                      {"rsign", "E_AMBIG", 0},
                      {"ternary.g0", "E_VALUE", 8},
                      {"ternary.ax0", "E_CONFLICT", 8},
                      {"bfp8.compat=mase-cuda", "E_COMPAT", 5},
                      {"int8.compat=mase", "E_COMPAT", 5},
                      {"int8.channel.s=fp16.compat=mase", "E_COMPAT", 20},
                      {"mxint8.ax0.compat=mase-cuda", "E_COMPAT", 11},
                      {"bfp8.compat=mase.g16", "none", 0}};
  for (const auto& [text, code, position] : rows) {
    const Fault fault = fault_of([&] { parse_format(text); });
    EXPECT_EQ(fault.code, code) << text;
    EXPECT_EQ(fault.position, position) << text;
    if (fault.code == "none") continue;
    const std::string caret = std::string("\n  ") + text + "\n  " + std::string(position, ' ') + "^";
    EXPECT_TRUE(fault.text.ends_with(caret)) << fault.text;
  }
}

TEST(FakeOnly, PackingIsRefusedAndSaysWhatPacks) {
  const Format format = parse_format("bfp8.compat=mase");
  const Fault fault = fault_of([&] { pack(format, FormatShape{4}, std::vector<float>(4)); });
  EXPECT_EQ(fault.code, "E_FAKE_ONLY");
  EXPECT_EQ(fault.position, 5u);
  EXPECT_NE(fault.text.find("leave the option out for the format that packs"), std::string::npos) << fault.text;
  EXPECT_EQ(fault_of([&] { plane_bytes(format, FormatShape{4}); }).code, "E_FAKE_ONLY");
  EXPECT_EQ(fault_of([&] { unpack(format, FormatShape{0}, {}, {}); }).code, "E_FAKE_ONLY");
}

// A group longer than its axis is padded: it costs a whole group and decodes as if it were short.
TEST(BadShapes, AGroupLongerThanItsAxisIsPadded) {
  for (const char* text : {"mxint8", "bfp8.g64", "nvfp4", "int4.g128", "ternary.g32", "rsign2.g32.s=fp16", "bfp8.g0x64",
                           "uint4.g32.asym", "blog8.g64", "mxint8.compat=mase-cuda"}) {
    const Format format = parse_format(text);
    const FormatShape shape{2, 5};
    const std::vector<float> x{1, -0.5f, 0.25f, 2, -1, 3, 0.1f, -0.2f, 0.7f, 1};
    const Planes planes = pack(format, shape, x);
    std::vector<float> y(10);
    unpack(format, shape, golden::view(planes), y);
    EXPECT_EQ(y, quantized(format, shape, x)) << text;
    EXPECT_GE(packed_layout(format, shape).padded_elems, 16) << text;
    EXPECT_EQ(static_cast<int64_t>(planes.codes.size()), plane_bytes(format, shape).codes) << text;
  }
}

TEST(BadShapes, ScalarsAndVectorsAreTensorsLikeOthers) {
  for (const std::string& text : packable_examples()) {
    const Format format = parse_format(text);
    const bool needs_matrix = format.geometry.kind == Geometry::Kind::tile || format.geometry.axis >= 1;
    for (const FormatShape& shape : {FormatShape{}, FormatShape{1}, FormatShape{7}}) {
      const std::vector<float> x(shape == FormatShape{7} ? 7 : 1, 0.75f);
      if (needs_matrix) {
        EXPECT_EQ(fault_of([&] { packed_layout(format, shape); }).code, "E_AXIS") << text;
        continue;
      }
      std::vector<float> y(x.size());
      unpack(format, shape, golden::view(pack(format, shape, x)), y);
      EXPECT_EQ(y, quantized(format, shape, x)) << text;
    }
  }
}

TEST(BadShapes, EmptyTensorsAreQuantizedToNothing) {
  for (const std::string& text : example_formats())
    for (const FormatShape& shape : {FormatShape{0, 4}, FormatShape{4, 0}})
      EXPECT_TRUE(quantized(parse_format(text), shape, {}).empty());
}

// FORMATS 3.2: other groups stay as they are without the bad one.
TEST(BadValues, NanAndInfinityMakeTheirGroupNanAndNoOther) {
  for (const std::string& text : packable_examples()) {
    const Format format = parse_format(text);
    if (!has_scale(format) || format.geometry.kind == Geometry::Kind::tensor) continue;
    for (float bad : {kNan, kInf, -kInf}) {
      const FormatShape shape{128, 128};
      Philox random(5);
      std::vector<float> x = lognormal_values(random, 128 * 128);
      x[0] = 0.5f;  // no largest magnitude, which a global scale follows
      const std::vector<float> clean = quantized(format, shape, x);
      x[0] = bad;
      EncodeCounts counts;
      const Planes planes = pack(format, shape, x, &counts);
      EXPECT_EQ(counts.nan + counts.inf, 1) << text;
      std::vector<float> y(x.size());
      unpack(format, shape, golden::view(planes), y);
      EXPECT_TRUE(std::isnan(y[0])) << text;
      int64_t nan = 0;
      for (size_t i = 0; i < y.size(); ++i) {
        if (std::isnan(y[i])) ++nan;
        else ASSERT_EQ(y[i], clean[i]) << text << " element " << i;
      }
      const int64_t whole_row = 128;  // of one super-block
      EXPECT_EQ(nan, is_two_level(format)        ? whole_row
                     : format.geometry.rows == 0 ? 128 * format.geometry.columns
                                                 : packed_layout(format, shape).group_elems)
          << text;
    }
  }
}

TEST(BadValues, WithoutAScaleInfinitySaturatesAndNanIsZeroOrNan) {
  for (const std::string& text : packable_examples()) {
    const Format format = parse_format(text);
    if (has_scale(format) || is_plain_float(format)) continue;
    const std::vector<float> x{kInf, -kInf, kMax, -kMax, kNan};
    EncodeCounts counts;
    const Planes planes = pack(format, FormatShape{5}, x, &counts);
    std::vector<float> y(5);
    unpack(format, FormatShape{5}, golden::view(planes), y);
    EXPECT_EQ(y[0], y[2]) << text;
    EXPECT_EQ(y[1], y[3]) << text;
    EXPECT_TRUE(std::isfinite(y[0]) && std::isfinite(y[1])) << text;
    EXPECT_EQ(counts.nan, 1) << text;
    EXPECT_EQ(counts.inf, 2) << text;
    EXPECT_TRUE(std::isnan(quantized(format, {5}, x)[4])) << text;  // value level
  }
}

TEST(BadPlanes, ACodeThatStandsForNothingIsRefused) {
  const Format format = parse_format("ternary.channel");
  const FormatShape shape{2, 4};
  Planes planes = pack(format, shape, std::vector<float>{1, -1, 0, 1, 0, 2, -2, 1});
  check_codes(format, shape, golden::view(planes));
  planes.codes[1] = std::byte{0b01'10'00'11};
  std::vector<float> y(8);
  for (const auto& read : {std::function<void()>([&] { unpack(format, shape, golden::view(planes), y); }),
                           std::function<void()>([&] { codes_of(format, shape, golden::view(planes)); }),
                           std::function<void()>([&] { check_codes(format, shape, golden::view(planes)); })}) {
    try {
      read();
      FAIL() << "the code was accepted";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("code 2 of line 1 is 2, which stands for no number"), std::string::npos)
          << error.what();
    }
  }
}

TEST(BadPlanes, AGlobalScaleMustBeThere) {
  const Format format = parse_format("nvfp4");
  Planes planes = pack(format, FormatShape{16}, std::vector<float>(16, 1.0f));
  planes.global.clear();
  std::vector<float> y(16);
  try {
    unpack(format, FormatShape{16}, golden::view(planes), y);
    FAIL() << "a missing plane was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("the global scale has 0 bytes; this shape needs 4"), std::string::npos);
  }
}

TEST(BadShapes, PlanesOfMoreBytesThanAnIntegerHoldsAreAnError) {
  const int64_t many = int64_t{1} << 50;
  for (const char* text : {"int8.g65536", "mxint8.g65536x65536", "mxint8", "bfp8.g0x65536", "int4"})
    for (const FormatShape& shape :
         {FormatShape{many, many}, FormatShape{many, 1}, FormatShape{1, many, 1}, FormatShape{many, 0, many}})
      try {
        EXPECT_GE(plane_bytes(parse_format(text), shape).total(), 0) << text;
      } catch (const FormatError&) {  // has no such option
      } catch (const Error&) {
      }
  EXPECT_THROW(plane_bytes(parse_format("mxint8"), FormatShape{many, many}), Error);
  EXPECT_THROW(plane_bytes(parse_format("mxint8.g65536"), FormatShape{many, 1}), Error);
  EXPECT_THROW(plane_bytes(parse_format("mxint8"), FormatShape{-1, 4}), Error);
}

}  // namespace
}  // namespace hone
