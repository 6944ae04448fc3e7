// Every golden vector of every family that exists, bit for bit.
#include "formats/format.h"

#include <gtest/gtest.h>

#include <set>

#include "formats/packed.h"
#include "tests/formats/golden.h"

namespace hone {
namespace {

using golden::same_value;

struct Case {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> x, decoded;
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
  std::vector<uint32_t> zero_points;
  const size_t bytes = format.element.bits <= 8 ? 1 : 2;
  for (size_t i = 0; i < planes.zero_points.size(); i += bytes)
    zero_points.push_back(std::to_integer<uint32_t>(planes.zero_points[i]) +
                          (bytes == 2 ? std::to_integer<uint32_t>(planes.zero_points[i + 1]) * 256 : 0));
  EXPECT_EQ(zero_points, c.zero_points);
  const Planes assembled = planes_of(format, c.shape, c.codes, c.scales, c.zero_points, c.global_scale);
  EXPECT_EQ(assembled.codes, planes.codes);
  EXPECT_EQ(assembled.scales, planes.scales);
  EXPECT_EQ(assembled.zero_points, planes.zero_points);
  EXPECT_EQ(assembled.global, planes.global);
  std::vector<float> decoded(c.x.size());
  unpack(format, c.shape, golden::view(planes), decoded);
  expect_values(decoded, c.decoded);
  std::vector<float> fake(c.x.size());
  fake_quantise(format, c.shape, c.x, fake);
  for (size_t i = 0; i < fake.size(); ++i)
    EXPECT_TRUE(same_value(fake[i], std::isnan(c.x[i]) ? c.x[i] : c.decoded[i])) << "fake element " << i;
}

// The formats of one document that exist; each of their cases is checked.
std::set<std::string> check_document(const std::string& name) {
  std::set<std::string> ran;
  const Json document = golden::document(name);
  for (const Json& entry : document.at("formats")) {
    const std::string text = entry.at("format");
    if (!golden::family_exists(text)) continue;
    const Format format = parse_format(text);
    EXPECT_EQ(to_string(format), text);
    EXPECT_EQ(format.element.bits, entry.at("width").get<int>());
    for (const Json& json : entry.at("cases")) {
      const Case c = read_case(json, name + "/" + text);
      SCOPED_TRACE(text + " " + c.name);
      check(format, c);
    }
    ran.insert(text);
  }
  return ran;
}

TEST(GoldenVectors, FloatsMatchBitForBit) { EXPECT_EQ(check_document("float").size(), 8u); }

TEST(GoldenVectors, IntegersMatchBitForBit) { EXPECT_EQ(check_document("int").size(), 18u); }

TEST(GoldenVectors, MinifloatsMatchBitForBit) { EXPECT_EQ(check_document("minifloat").size(), 10u); }

TEST(GoldenVectors, LogFormatsMatchBitForBit) { EXPECT_EQ(check_document("log").size(), 7u); }

TEST(GoldenVectors, BlockFloatingPointMatchesBitForBit) { EXPECT_EQ(check_document("bfp").size(), 10u); }

TEST(GoldenVectors, BlockMinifloatsMatchBitForBit) { EXPECT_EQ(check_document("bminifloat").size(), 5u); }

TEST(GoldenVectors, MicroscalingFormatsMatchBitForBit) {
  const std::set<std::string> ran = check_document("mx");
  EXPECT_EQ(ran.size(), 21u);
  for (const char* demanded : {"mxint8", "mxint4", "mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4"})
    EXPECT_TRUE(ran.contains(demanded)) << demanded;
}

TEST(GoldenVectors, SignsMatchBitForBit) { EXPECT_EQ(check_document("sign").size(), 12u); }

TEST(GoldenCodes, EveryCodeDecodesToItsValue) {
  int tables = 0;
  const Json document = golden::document("codes");
  for (const Json& table : document.at("tables")) {
    const std::string text = table.at("format");
    if (!golden::family_exists(text)) continue;
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

TEST(GoldenSizes, PlanesHaveTheBytesOfTheTable) {
  int sizes = 0;
  const Json document = golden::document("sizes");
  for (const Json& entry : document.at("sizes")) {
    const std::string text = entry.at("format");
    if (!golden::family_exists(text)) continue;
    const std::vector<int64_t> shape = entry.at("shape");
    SCOPED_TRACE(text + " " + entry.at("shape").dump());
    const PlaneBytes bytes = plane_bytes(parse_format(text), shape);
    EXPECT_EQ(bytes.codes, entry.at("code_bytes").get<int64_t>());
    EXPECT_EQ(bytes.scales, entry.at("scale_bytes").get<int64_t>());
    EXPECT_EQ(bytes.zero_points, entry.at("zero_point_bytes").get<int64_t>());
    EXPECT_EQ(bytes.global, entry.at("global_bytes").get<int64_t>());
    ++sizes;
  }
  EXPECT_GE(sizes, 13 * 6);
}

TEST(GoldenStrings, ValidStringsHaveTheirCanonicalSpellingWidthAndBits) {
  int strings = 0;
  const Json document = golden::document("strings");
  for (const Json& entry : document.at("valid")) {
    const std::string text = entry.at("text");
    if (!golden::family_exists(text)) continue;
    const Format format = parse_format(text);
    EXPECT_EQ(to_string(format), entry.at("canonical").get<std::string>()) << text;
    EXPECT_EQ(format.element.bits, entry.at("width").get<int>()) << text;
    if (entry.at("bits").is_number()) {
      EXPECT_EQ(nominal_bits(format), entry.at("bits").get<double>()) << text;
    }
    ++strings;
  }
  EXPECT_GE(strings, 16);
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
    const bool exists = golden::family_exists(text) || text.starts_with("mx");
    EXPECT_EQ(error_code(text), exists ? entry.at("error").get<std::string>() : "E_HEAD") << text;
    ++strings;
  }
  EXPECT_GE(strings, 36);
}

}  // namespace
}  // namespace hone
