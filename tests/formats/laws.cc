// The laws of docs/FORMATS.md, section 10, over every example of every family.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "base/float_bits.h"
#include "formats/codecs.h"
#include "formats/scale.h"
#include "tests/formats/examples.h"
#include "tests/formats/golden.h"

namespace hone {

extern const FormatDef ternary_def;

namespace {

constexpr int kTrials = 40;
constexpr int64_t kGroup = 8;

bool has_zero_point(const Format& format) { return format.scale_kind->zero_point != nullptr; }
bool divides_in_f32(const Format& format) { return has_scale(format) && format.scale_kind != &pow2_scale; }

// fn(format, shape of one group, random values of it)
template <class F>
void for_each_example(F&& fn) {
  for (const std::string& text : packable_examples()) {
    SCOPED_TRACE(text);
    const Format format = parse_format(text);
    Philox random(1);
    for (int trial = 0; trial < kTrials; ++trial)
      fn(format, one_group_shape(format, kGroup), lognormal_values(random, kGroup));
  }
}

TEST(FormatLaws, QuantizationIsMonotoneInsideAGroup) {
  for_each_example([](const Format& format, const FormatShape& shape, std::vector<float> x) {
    if (is_residual(format)) return;
    std::ranges::sort(x);
    const std::vector<float> y = quantized(format, shape, x);
    EXPECT_TRUE(std::ranges::is_sorted(y));
  });
}

TEST(FormatLaws, QuantizationIsOdd) {
  for_each_example([](const Format& format, const FormatShape& shape, std::vector<float> x) {
    if (!format.element.is_signed || format.element.round_floor || format.element.table) return;
    // Unscaled two's complement reaches one step further below zero than above.
    if (!has_scale(format) && format.codec == &int_codec)
      for (float& v : x) v = std::clamp<float>(v, -1, 1);
    std::vector<float> negated = x;
    for (float& v : negated) v = -v;
    const std::vector<float> y = quantized(format, shape, x), z = quantized(format, shape, negated);
    for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(z[i], -y[i]);
  });
}

TEST(FormatLaws, QuantizingTwiceChangesNothing) {
  for_each_example([](const Format& format, const FormatShape& shape, const std::vector<float>& x) {
    if (has_zero_point(format) || format.scale_kind->global || scales_per_group(format) > 1) return;
    if (is_two_level(format) || format.scale_kind == &f32_signed_scale) return;
    const std::vector<float> y = quantized(format, shape, x), z = quantized(format, shape, y);
    // The f32 scale of the second pass may differ in its last place: half an ulp from each of two roundings.
    const float slack = divides_in_f32(format) ? 2 * std::numeric_limits<float>::epsilon() : 0;
    for (size_t i = 0; i < y.size(); ++i) EXPECT_LE(std::abs(z[i] - y[i]), slack * std::abs(y[i]));
  });
}

// Narrow powers of two and fp16 reach only so far: there a scale is the smallest or the largest.
bool at_the_end_of_its_range(const Format& format, const FormatShape& shape, const std::vector<float>& x) {
  const bool is_pow2 = format.scale_kind == &pow2_scale;
  if (!is_pow2 && format.scale.type != ScaleType::fp16 && !is_two_level(format)) return false;
  const uint32_t lowest = is_pow2 ? 0 : 0x0400, highest = is_pow2 ? (1u << format.scale.bits) - 2 : 0x7bff;
  const Planes planes = pack(format, shape, x);
  std::vector<uint32_t> codes = is_two_level(format) ? outer_codes_of(format, shape, golden::view(planes))
                                                     : scale_codes_of(format, shape, golden::view(planes));
  for (uint32_t code : codes) {
    const uint32_t magnitude = is_pow2 ? code : code & 0x7fff;
    if (magnitude <= lowest || magnitude >= highest) return true;
  }
  return false;
}

TEST(FormatLaws, ScaledFormatsCommuteWithPowersOfTwo) {
  int compared = 0;
  for_each_example([&](const Format& format, const FormatShape& shape, const std::vector<float>& x) {
    if (!has_scale(format) || at_the_end_of_its_range(format, shape, x)) return;
    const std::vector<float> y = quantized(format, shape, x);
    for (int j : {-20, -1, 3, 30}) {
      std::vector<float> moved = x;
      for (float& v : moved) v = std::ldexp(v, j);
      if (at_the_end_of_its_range(format, shape, moved)) continue;
      ++compared;
      const std::vector<float> z = quantized(format, shape, moved);
      for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(z[i], std::ldexp(y[i], j));
    }
  });
  EXPECT_GT(compared, 3000);
}

// The scale of the first group as its elements read it.
double first_scale(const Format& format, const FormatShape& shape, const Planes& planes) {
  if (!has_scale(format)) return 1;
  float global = 1;
  if (is_two_level(format))
    global = f16_to_f32(static_cast<uint16_t>(outer_codes_of(format, shape, golden::view(planes)).at(0)));
  else if (!planes.global.empty()) std::memcpy(&global, planes.global.data(), sizeof global);
  return static_cast<float>(scale_value(format, scale_codes_of(format, shape, golden::view(planes)).at(0)) * global);
}

// The values that encoding may produce for a scale; the most negative code of symmetric integers is read but never
// written.
std::vector<double> emitted_values(const Format& format, double scale) {
  std::vector<double> values = code_values(format);
  if (format.element.symmetric) values.erase(values.begin() + (1 << (format.element.bits - 1)));
  std::erase_if(values, [](double v) { return !std::isfinite(v); });
  for (double& v : values) v *= scale;
  return values;
}

TEST(FormatLaws, NoOtherCodeIsNearer) {
  for_each_example([](const Format& format, const FormatShape& shape, const std::vector<float>& x) {
    if (format.element.bits > 8 || format.element.round_floor || has_zero_point(format)) return;
    if (format.codec == &log_codec) return;  // nearest in the log domain: the next test
    if (scales_per_group(format) > 1 || format.family == &ternary_def) return;  // a sum; a threshold
    if (format.geometry.kind == Geometry::Kind::flattened) return;              // mase-cuda rounds twice, first to bf16
    const Planes planes = pack(format, shape, x);
    const std::vector<double> values = emitted_values(format, first_scale(format, shape, planes));
    const std::vector<float> y = quantized(format, shape, x);
    for (size_t i = 0; i < x.size(); ++i) {
      double nearest = std::numeric_limits<double>::infinity();
      for (double v : values) nearest = std::min(nearest, std::abs(x[i] - v));
      // Division by an f32 scale and the f32 result round once each.
      const double slack = divides_in_f32(format) ? 0x1p-23 * std::abs(x[i]) : 0;
      EXPECT_LE(std::abs(double{x[i]} - y[i]), nearest + slack) << x[i];
    }
  });
}

// But for the largest code, where values saturate, and the smallest, which reaches down to half of itself.
TEST(FormatLaws, PowersOfTwoAreWithinAFactorOfTheRootOfTwo) {
  int compared = 0;
  for_each_example([&](const Format& format, const FormatShape& shape, const std::vector<float>& x) {
    if (format.codec != &log_codec) return;
    const std::vector<uint32_t> codes = codes_of(format, shape, golden::view(pack(format, shape, x)));
    const std::vector<float> y = quantized(format, shape, x);
    const uint32_t largest = (1u << (format.element.bits - 1)) - 1;
    for (size_t i = 0; i < x.size(); ++i) {
      const uint32_t magnitude = codes[i] & largest;
      if (magnitude <= 1 || magnitude == largest) continue;
      EXPECT_LE(std::max(y[i] / x[i], x[i] / y[i]), std::numbers::sqrt2_v<float>) << x[i];
      ++compared;
    }
  });
  EXPECT_GT(compared, 500);
}

TEST(FormatLaws, FiniteInputsOfScaledFormatsStayFinite) {
  constexpr float kMax = std::numeric_limits<float>::max(), kTiny = std::numeric_limits<float>::denorm_min();
  const std::vector<float> extremes{kMax, -kMax, kMax / 2, 1, -kTiny, kTiny, 0x1p-126f, -0.0f};
  for (const std::string& text : packable_examples()) {
    const Format format = parse_format(text);
    if (!has_scale(format)) continue;
    for (float factor : {1.0f, 0x1p-100f, 0x1p-126f, 0x1p-149f}) {
      std::vector<float> x = extremes;
      for (float& v : x) v *= factor;
      for (float y : quantized(format, one_group_shape(format, kGroup), x)) EXPECT_TRUE(std::isfinite(y)) << text;
    }
  }
}

TEST(FormatLaws, APartOfATensorDecodesAsInTheWhole) {
  for (const std::string& text : packable_examples()) {
    const Format format = parse_format(text);
    for (const FormatShape& shape : {FormatShape{3, 37}, FormatShape{2, 3, 7}, FormatShape{1, 5}}) {
      SCOPED_TRACE(text);
      size_t elems = 1;
      for (int64_t d : shape) elems *= static_cast<size_t>(d);
      Philox random(2);
      const Planes planes = pack(format, shape, lognormal_values(random, elems));
      std::vector<float> whole(elems);
      unpack(format, shape, golden::view(planes), whole);
      for (size_t begin = 0; begin <= elems; begin += 3) {
        std::vector<float> part((elems - begin) / 2);
        unpack_range(format, shape, golden::view(planes), static_cast<int64_t>(begin), part);
        EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + static_cast<ptrdiff_t>(begin))) << begin;
      }
    }
  }
}

TEST(FormatLaws, FakeQuantizingEqualsPackingAndUnpacking) {
  for (const std::string& text : packable_examples()) {
    const Format format = parse_format(text);
    const FormatShape shape{9, 1000};  // more than one batch of elements
    Philox random(3);
    const std::vector<float> x = lognormal_values(random, 9000);
    const Planes planes = pack(format, shape, x);
    std::vector<float> y(x.size());
    unpack(format, shape, golden::view(planes), y);
    EXPECT_EQ(quantized(format, shape, x), y) << text;
  }
}

// One row per scale code, holding every element code.
TEST(FormatLaws, EveryCodeTimesEveryPowerOfTwoIsRoundedOnce) {
  for (const char* head : {"mxint8", "mxint4", "mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4"}) {
    Format format = parse_format(head);
    const int64_t codes = int64_t{1} << format.element.bits;
    format.geometry.columns = codes;
    const FormatShape shape{256, codes};
    Planes planes = pack(format, shape, std::vector<float>(static_cast<size_t>(256 * codes)));
    for (size_t c = 0; c < 256; ++c) planes.scales[c] = static_cast<std::byte>(c);
    const int bits = format.element.bits;
    for (int64_t row = 0; row < 256; ++row)
      for (int64_t bit = 0; bit < codes * bits; ++bit)
        if (bit / bits >> bit % bits & 1)
          planes.codes[static_cast<size_t>(row * codes * bits / 8 + bit / 8)] |= static_cast<std::byte>(1 << bit % 8);
    std::vector<float> values(static_cast<size_t>(256 * codes));
    unpack(format, shape, golden::view(planes), values);
    const std::vector<double> table = code_values(format);
    for (size_t i = 0; i < values.size(); ++i) {
      const int scale = static_cast<int>(i / table.size());
      const float expected =
          scale == 255 ? std::nanf("") : static_cast<float>(std::ldexp(table[i % table.size()], scale - 127));
      ASSERT_TRUE(golden::same_value(values[i], expected))
          << head << " scale " << scale << " code " << i % table.size();
    }
  }
}

}  // namespace
}  // namespace hone
