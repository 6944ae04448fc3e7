#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/cpu.h"
#include "base/error.h"
#include "base/float_bits.h"
#include "base/json.h"
#include "base/philox.h"
#include "base/small_float.h"
#include "base/text.h"

namespace hone {
namespace {

TEST(FloatBits, EveryHalfFloatSurvivesARoundTrip) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = f16_to_f32(static_cast<uint16_t>(bits));
    EXPECT_EQ(std::isnan(value) ? f32_to_f16(value) & 0x7e00u : f32_to_f16(value), std::isnan(value) ? 0x7e00u : bits);
    const float brain = bf16_to_f32(static_cast<uint16_t>(bits));
    EXPECT_TRUE(std::isnan(brain) || f32_to_bf16(brain) == bits) << bits;
  }
}

TEST(FloatBits, RoundsTiesToEvenAndOverflowsToInfinity) {
  EXPECT_EQ(f16_to_f32(f32_to_f16(1 + 0x1p-11f)), 1.0f);
  EXPECT_EQ(f16_to_f32(f32_to_f16(1 + 3 * 0x1p-11f)), 1 + 0x1p-9f);
  EXPECT_EQ(f16_to_f32(f32_to_f16(65519.99f)), 65504.0f);
  EXPECT_TRUE(std::isinf(f16_to_f32(f32_to_f16(65520.0f))));
  EXPECT_EQ(f16_to_f32(f32_to_f16(0x1p-25f)), 0.0f);
  EXPECT_EQ(f16_to_f32(f32_to_f16(0x1.8p-25f)), 0x1p-24f);
  EXPECT_EQ(f32_to_bf16(1 + 0x1p-8f), 0x3f80);
  EXPECT_EQ(f32_to_bf16(1 + 3 * 0x1p-8f), 0x3f82);
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
}

TEST(SmallFloat, EveryCodeThatIsANumberSurvivesARoundTrip) {
  for (const SmallFloat& type : {kF8e4m3fn, kF8e4m3fnuz, kF8e5m2, kF8e5m2fnuz, kF4e2m1, kF8e8m0, kF6e2m3, kF6e3m2}) {
    const bool has_sign = type.specials != SmallFloat::Specials::powers;
    for (int code = 0; code < 1 << (type.exponent_bits + type.mantissa_bits + (has_sign ? 1 : 0)); ++code) {
      const float value = decode_small_float(type, static_cast<uint8_t>(code));
      EXPECT_TRUE(!std::isfinite(value) || encode_small_float(type, value) == code) << code;
    }
  }
  EXPECT_EQ(largest_finite(kF6e2m3), 7.5f);
  EXPECT_EQ(largest_finite(kF6e3m2), 28);
  EXPECT_EQ(largest_finite(kF8e8m0), 0x1p127f);
}

TEST(SmallFloat, PowersOfTwoAreRoundedAsAsked) {
  using enum PowerRounding;
  EXPECT_EQ(encode_power_of_two(3, nearest), 129);  // 2 and 4 are as near: the larger
  EXPECT_EQ(encode_power_of_two(2.9f, nearest), 128);
  EXPECT_EQ(encode_power_of_two(2.1f, up), 129);
  EXPECT_EQ(encode_power_of_two(3.9f, down), 128);
  EXPECT_EQ(encode_power_of_two(2, up), 128);
  EXPECT_EQ(encode_power_of_two(0x1p-127f, up), 0);
}

TEST(SmallFloat, NumbersBeyondThePowersOfTwoAreTheNearestOrNan) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (float large : {infinity, 0x1.8p127f}) {
    EXPECT_EQ(encode_power_of_two(large), 254);
    EXPECT_EQ(encode_power_of_two(large, PowerRounding::nearest, false), 255);
  }
  for (float small : {0.0f, 0x1p-129f}) {
    EXPECT_EQ(encode_power_of_two(small), 0);
    EXPECT_EQ(encode_power_of_two(small, PowerRounding::nearest, false), 255);
  }
  for (float none : {-1.0f, std::numeric_limits<float>::quiet_NaN()}) EXPECT_EQ(encode_power_of_two(none), 255);
}

TEST(Philox, MatchesThePublishedKnownAnswers) {
  using Block = std::array<uint32_t, 4>;
  EXPECT_EQ(Philox::block(0, 0, 0), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox::block(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(Text, SuggestsNearNamesOnly) {
  const std::vector<std::string> names{"mxint8", "mxint4", "bf16"};
  EXPECT_EQ(did_you_mean("mxint9", names), ". Did you mean mxint8 or mxint4?");
  EXPECT_EQ(did_you_mean("zzzzzz", names), "");
  EXPECT_EQ(human_bytes(90868376), "90.9 MB");
  EXPECT_EQ(human_bytes(812), "812 B");
}

TEST(Json, RefusesDuplicateKeysDepthAndTrailingText) {
  EXPECT_EQ(parse_json(R"({"a":[1,2]})", "t")["a"][1], 2);
  EXPECT_THROW(parse_json(R"({"a":1,"a":2})", "t"), Error);
  EXPECT_THROW(parse_json(R"({"b":{"a":1,"a":2}})", "t"), Error);
  EXPECT_THROW(parse_json("{} x", "t"), Error);
  EXPECT_THROW(parse_json(std::string(100, '[') + std::string(100, ']'), "t"), Error);
  EXPECT_THROW(json_get<int>(parse_json(R"({"a":"x"})", "t"), "a", "t"), Error);
  EXPECT_THROW(json_get<int>(parse_json("{}", "t"), "a", "t"), Error);
  EXPECT_THROW(parse_json(std::string(1'000'000, '['), "t"), Error);
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_THROW(parse_json(objects, "t"), Error);
  EXPECT_THROW(parse_json("[1e999]", "t"), Error);
}

TEST(Json, OrderOfTheFileIsKept) {
  EXPECT_EQ(parse_json(R"({"z":1,"a":{"y":[true,null,"x"],"b":1.5}})", "t").dump(),
            R"({"z":1,"a":{"y":[true,null,"x"],"b":1.5}})");
}

TEST(Json, AnObjectOfManyKeysIsReadInLinearTime) {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i) text += "\"key" + std::to_string(i) + "\":0,";
  text.back() = '}';
  EXPECT_EQ(parse_json(text, "t").size(), 200'000u);
}

TEST(Json, WholeNumbersAreNotWrappedOrCut) {
  const auto get = [](const char* number, auto type) {
    return json_get<decltype(type)>(parse_json(fmt::format("{{\"a\":{}}}", number), "t"), "a", "t");
  };
  EXPECT_EQ(get("9223372036854775807", int64_t{}), INT64_MAX);
  EXPECT_EQ(get("12.0", int64_t{}), 12);
  EXPECT_EQ(get("-1", int{}), -1);
  for (const char* number : {"9223372036854775808", "-9223372036854775809", "1e300", "1.5", "true", "\"1\"", "null"})
    EXPECT_THROW(get(number, int64_t{}), Error) << number;
  EXPECT_THROW(get("4294967296", int{}), Error);
  EXPECT_THROW(get("-1", size_t{}), Error);
  EXPECT_EQ(get("[1,2.0]", std::vector<int64_t>{}), (std::vector<int64_t>{1, 2}));
  EXPECT_THROW(get("[1,1e30]", std::vector<int64_t>{}), Error);
  EXPECT_THROW(get("{}", std::vector<int64_t>{}), Error);
}

TEST(Features, BringWhatTheyBuildOnAndTakeItAway) {
  const Features bf16 = Features().with(Feature::avx512_bf16);
  EXPECT_EQ(to_string(bf16), "avx2 avx512 avx512_bf16");
  EXPECT_EQ(bf16.without(Feature::avx512), Features().with(Feature::avx2));
  EXPECT_EQ(bf16.without(Feature::avx2), Features());
  EXPECT_TRUE(bf16.has_all_of(Features().with(Feature::avx512)));
  EXPECT_FALSE(bf16.has_all_of(bf16.with(Feature::avx_vnni)));
}

TEST(Cpu, SaysWhatItIs) {
  EXPECT_FALSE(cpu_model().vendor.empty());
  EXPECT_GT(cache_sizes().l1_bytes, 1 << 13);
  EXPECT_GE(cache_sizes().l2_bytes, cache_sizes().l1_bytes);
}

}  // namespace
}  // namespace hone
