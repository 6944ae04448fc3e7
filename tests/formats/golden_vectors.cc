// Every golden vector of every family, bit for bit.
#include "formats/format.h"

#include <gtest/gtest.h>

#include <numeric>

#include "formats/zero_points.h"
#include "tests/formats/golden.h"

namespace hone {
namespace {

using golden::same_value;

struct Case {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> x, decoded, fake;
  std::vector<uint32_t> codes, scales, zero_points;
  float global_scale = 0;
  std::vector<std::byte> packed, packed_scales;
};

Case read_case(const Json& json, const std::string& source) {
  const auto list = [&](const char* key) {
    return json.contains(key) ? json_get<std::vector<uint32_t>>(json, key, source) : std::vector<uint32_t>();
  };
  const auto hex = [&](const char* key) {
    return json.contains(key) ? json_get<std::string>(json, key, source) : std::string();
  };
  return {json_get<std::string>(json, "name", source),
          json_get<std::vector<int64_t>>(json, "shape", source),
          golden::floats_of(hex("x")),
          golden::floats_of(hex("decoded")),
          golden::floats_of(hex("fake")),
          list("codes"),
          list("scales"),
          list("zero_points"),
          std::bit_cast<float>(json.contains("global_scale") ? json_get<uint32_t>(json, "global_scale", source) : 0),
          golden::bytes_of(hex("packed")),
          golden::bytes_of(hex("packed_scales"))};
}

void expect_values(const std::vector<float>& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_TRUE(same_value(found[i], expected[i]))
        << "element " << i << ": " << found[i] << ", expected " << expected[i];
}

void check(const Format& format, const Case& c) {
  const Planes planes = pack(format, c.shape, c.x);
  EXPECT_EQ(codes_of(format, c.shape, golden::view(planes)), c.codes);
  EXPECT_EQ(scale_codes_of(format, c.shape, golden::view(planes)), c.scales);
  EXPECT_EQ(planes.codes, c.packed);
  EXPECT_EQ(planes.scales, c.packed_scales);
  EXPECT_EQ(zero_points_of(format, golden::view(planes)), c.zero_points);
  const Planes assembled = planes_of(format, c.shape, c.codes, c.scales, c.zero_points, c.global_scale);
  EXPECT_EQ(assembled.codes, planes.codes);
  EXPECT_EQ(assembled.scales, planes.scales);
  EXPECT_EQ(assembled.zero_points, planes.zero_points);
  EXPECT_EQ(assembled.global, planes.global);
  std::vector<float> decoded(c.x.size());
  unpack(format, c.shape, golden::view(planes), decoded);
  expect_values(decoded, c.decoded);
  std::vector<float> fake(c.x.size());
  fake_quantize(format, c.shape, c.x, fake);
  for (size_t i = 0; i < fake.size(); ++i)
    EXPECT_TRUE(same_value(fake[i], std::isnan(c.x[i]) ? c.x[i] : c.decoded[i])) << "fake element " << i;
}

void check_fake(const Format& format, const Case& c) {
  std::vector<float> fake(c.x.size());
  fake_quantize(format, c.shape, c.x, fake);
  expect_values(fake, c.fake);
}

// Checks every case of every format of a document; how many formats it has.
size_t check_document(const std::string& name) {
  const Json document = golden::document(name);
  for (const Json& entry : document.at("formats")) {
    const std::string text = entry.at("format");
    const Format format = parse_format(text);
    EXPECT_EQ(to_string(format), text);
    EXPECT_EQ(format.element.bits, entry.at("width").get<int>());
    for (const Json& json : entry.at("cases")) {
      const Case c = read_case(json, name + "/" + text);
      SCOPED_TRACE(text + " " + c.name);
      EXPECT_EQ(is_fake_only(format), json.contains("fake"));
      if (is_fake_only(format)) check_fake(format, c);
      else check(format, c);
    }
  }
  return document.at("formats").size();
}

TEST(GoldenVectors, FloatsMatchBitForBit) { EXPECT_EQ(check_document("float"), 8u); }

TEST(GoldenVectors, IntegersMatchBitForBit) { EXPECT_EQ(check_document("int"), 18u); }

TEST(GoldenVectors, MinifloatsMatchBitForBit) { EXPECT_EQ(check_document("minifloat"), 10u); }

TEST(GoldenVectors, LogFormatsMatchBitForBit) { EXPECT_EQ(check_document("log"), 7u); }

TEST(GoldenVectors, BlockFloatingPointMatchesBitForBit) { EXPECT_EQ(check_document("bfp"), 10u); }

TEST(GoldenVectors, BlockMinifloatsMatchBitForBit) { EXPECT_EQ(check_document("bminifloat"), 5u); }

TEST(GoldenVectors, MicroscalingFormatsMatchBitForBit) { EXPECT_EQ(check_document("mx"), 21u); }

TEST(GoldenVectors, ScalesStoredInTwoBytesMatchBitForBit) { EXPECT_EQ(check_document("scale_type"), 15u); }

TEST(GoldenVectors, VariantsOfThePredecessorMatchBitForBit) { EXPECT_EQ(check_document("compat"), 16u); }

TEST(GoldenVectors, SignsMatchBitForBit) { EXPECT_EQ(check_document("sign"), 12u); }

TEST(GoldenCodes, EveryCodeDecodesToItsValue) {
  int tables = 0;
  const Json document = golden::document("codes");
  for (const Json& table : document.at("tables")) {
    const std::string text = table.at("format");
    const std::vector<float> expected = golden::floats_of(table.at("values").get<std::string>());
    const std::vector<double> values = code_values(parse_format(text));
    ASSERT_EQ(values.size(), expected.size());
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_TRUE(same_value(static_cast<float>(values[i]), expected[i])) << text << " code " << i;
    ++tables;
  }
  EXPECT_EQ(tables, 20);
}

TEST(GoldenCodes, EveryE8M0CodeIsItsPowerOfTwo) {
  const std::vector<float> expected = golden::floats_of(golden::document("codes").at("e8m0").get<std::string>());
  ASSERT_EQ(expected.size(), 256u);
  for (uint32_t code = 0; code < 256; ++code)
    EXPECT_TRUE(same_value(static_cast<float>(scale_value(parse_format("mxint8"), code)), expected[code])) << code;
}

// Every mantissa byte under the scale codes at and next to the ends.
TEST(GoldenCodes, MaseCudaDecodesEveryByteInBf16Bits) {
  const Format format = parse_format("mxint8.g256.compat=mase-cuda");
  const std::vector<int64_t> shape{256};
  std::vector<uint32_t> bytes(256);
  std::iota(bytes.begin(), bytes.end(), 0u);
  const Json document = golden::document("codes");
  for (const Json& table : document.at("mase_cuda_decode")) {
    const uint32_t scale = table.at("scale");
    const Planes planes = planes_of(format, shape, bytes, std::vector<uint32_t>{scale}, {});
    std::vector<float> values(256);
    unpack(format, shape, golden::view(planes), values);
    SCOPED_TRACE(scale);
    expect_values(values, golden::floats_of(table.at("values").get<std::string>()));
  }
  EXPECT_EQ(document.at("mase_cuda_decode").size(), 6u);
}

TEST(GoldenSizes, PlanesHaveTheBytesOfTheTable) {
  int sizes = 0;
  const Json document = golden::document("sizes");
  for (const Json& entry : document.at("sizes")) {
    const std::string text = entry.at("format");
    const std::vector<int64_t> shape = entry.at("shape");
    SCOPED_TRACE(text + " " + entry.at("shape").dump());
    const PlaneBytes bytes = plane_bytes(parse_format(text), shape);
    EXPECT_EQ(bytes.codes, entry.at("code_bytes").get<int64_t>());
    EXPECT_EQ(bytes.scales, entry.at("scale_bytes").get<int64_t>());
    EXPECT_EQ(bytes.zero_points, entry.at("zero_point_bytes").get<int64_t>());
    EXPECT_EQ(bytes.global, entry.at("global_bytes").get<int64_t>());
    ++sizes;
  }
  EXPECT_EQ(sizes, 212);
}

TEST(GoldenStrings, ValidStringsHaveTheirCanonicalSpellingWidthAndBits) {
  int strings = 0;
  const Json document = golden::document("strings");
  for (const Json& entry : document.at("valid")) {
    const std::string text = entry.at("text");
    const Format format = parse_format(text);
    EXPECT_EQ(to_string(format), entry.at("canonical").get<std::string>()) << text;
    EXPECT_EQ(format.element.bits, entry.at("width").get<int>()) << text;
    if (entry.at("bits").is_number()) {
      EXPECT_EQ(nominal_bits(format), entry.at("bits").get<double>()) << text;
    }
    ++strings;
  }
  EXPECT_EQ(strings, 33);
}

std::string error_code(const std::string& text) {
  try {
    parse_format(text);
  } catch (const FormatError& error) {
    return error.code;
  }
  return "none";
}

TEST(GoldenStrings, InvalidStringsHaveTheirErrorCode) {
  int strings = 0;
  const Json document = golden::document("strings");
  for (const Json& entry : document.at("invalid")) {
    const std::string text = entry.at("text");
    EXPECT_EQ(error_code(text), entry.at("error").get<std::string>()) << text;
    ++strings;
  }
  EXPECT_EQ(strings, 39);
}

}  // namespace
}  // namespace hone
