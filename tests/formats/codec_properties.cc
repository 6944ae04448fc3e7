// Element codecs, over every code of every registered format up to 16 bits: what is emitted is read back as itself, and
// every value goes to the nearest.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>

#include "formats/codecs.h"
#include "formats/element_pass.h"
#include "tests/formats/examples.h"

namespace hone {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<uint32_t> encode_all(const Format& format, const std::vector<double>& values) {
  std::vector<uint32_t> codes(values.size());
  const ConstColumn arg{values.data()};
  const MutableColumn result{codes.data()};
  const Program program = flatten(format.codec->encode(format.element, Expr::arg(0, Scalar::f64)));
  run_program(program, {&arg, 1}, static_cast<int64_t>(values.size()), {&result, 1});
  return codes;
}

// NaN payloads, infinity where encoding saturates, the most negative of symmetric integers and other spellings of a
// number without a hidden bit are read but never written.
bool is_emitted(const Format& format, uint32_t code, double value) {
  const ElementParams& p = format.element;
  if (format.codec == &int_codec && p.symmetric) return code != 1u << (p.bits - 1);
  if (std::isinf(value)) return !p.saturate;
  if (format.codec == &minifloat_codec && std::isnan(value)) {
    const uint32_t field =
        p.top == ElementParams::Top::ieee ? 1u << (p.mantissa_bits - 1) : (1u << p.mantissa_bits) - 1;
    return (code & ((1u << p.mantissa_bits) - 1)) == field;
  }
  if (format.codec == &denorm_codec) {
    const uint32_t fraction = code & ((1u << p.mantissa_bits) - 1), exponent = code >> p.mantissa_bits;
    return fraction >> (p.mantissa_bits - 1) == 1 || (exponent & ((1u << p.exponent_bits) - 1)) == 0;
  }
  return true;
}

// One format of each codec and parameters, with the values of all codes. Residual codes have no value of their own.
template <class F>
void for_each_element(F&& fn) {
  std::vector<Format> done;
  for (const std::string& text : packable_examples()) {
    const Format format = parse_format(text);
    const auto same = [&](const Format& f) { return f.codec == format.codec && f.element == format.element; };
    if (format.element.bits > 16 || is_residual(format) || std::ranges::any_of(done, same)) continue;
    done.push_back(format);
    SCOPED_TRACE(text);
    fn(format, code_values(format));
  }
  EXPECT_GT(done.size(), 40u);
}

TEST(Codecs, EmittedCodesAreReadBackAsThemselves) {
  for_each_element([](const Format& format, const std::vector<double>& values) {
    const std::vector<uint32_t> again = encode_all(format, values);
    int64_t emitted = 0;
    for (uint32_t code = 0; code < values.size(); ++code) {
      if (!is_emitted(format, code, values[code])) continue;
      ++emitted;
      ASSERT_EQ(again[code], code) << values[code];
    }
    EXPECT_GE(2 * emitted, static_cast<int64_t>(values.size()));
  });
}

// Other codes stand for numbers that have an emitted code, or lie beyond the largest of them.
TEST(Codecs, CodesThatAreOnlyReadStandForNumbersInRange) {
  for_each_element([](const Format& format, const std::vector<double>& values) {
    const std::vector<uint32_t> again = encode_all(format, values);
    for (uint32_t code = 0; code < values.size(); ++code) {
      if (is_emitted(format, code, values[code])) continue;
      EXPECT_TRUE(is_emitted(format, again[code], values[again[code]]));
      const bool beyond = std::abs(values[code]) > format.codec->max(format.element);
      if (std::isnan(values[code])) continue;
      EXPECT_TRUE(beyond || values[again[code]] == values[code]) << values[code];
    }
  });
}

// The finite numbers that a format emits, ascending.
std::vector<double> grid(const Format& format, const std::vector<double>& values) {
  std::vector<double> numbers;
  for (uint32_t code = 0; code < values.size(); ++code)
    if (is_emitted(format, code, values[code]) && std::isfinite(values[code])) numbers.push_back(values[code]);
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());  // -0 == 0
  return numbers;
}

// Where rounding turns from `low` to its neighbour `high`, and which of them the threshold itself becomes.
struct Threshold {
  double at;
  bool goes_up;
};

Threshold threshold(const Format& format, std::span<const double> numbers, size_t i) {
  const double low = numbers[i], high = numbers[i + 1];
  if (format.codec == &table_codec) return {low + (high - low) / 2, i % 2 == 1};  // to the even code
  if (format.codec == &sign_codec) return {0, true};
  if (format.element.round_floor) return {high, true};
  if (format.codec == &log_codec && low != 0 && high != 0)
    return {std::copysign(std::sqrt(low * high), low), low < 0};  // the double next below or above the root: no tie
  const double middle = low + (high - low) / 2, quotient = low / (high - low);
  if (format.codec == &log_codec) return {middle, low < 0};  // to zero
  return {middle, std::fmod(quotient, 2) != 0};              // to an even multiple of the step
}

TEST(Codecs, ValuesBetweenTwoNumbersGoToTheNearerAndTiesToTheEven) {
  for_each_element([](const Format& format, const std::vector<double>& values) {
    const std::vector<double> numbers = grid(format, values);
    std::vector<double> below, at, above;
    for (size_t i = 0; i + 1 < numbers.size(); ++i) {
      at.push_back(threshold(format, numbers, i).at);
      below.push_back(std::nextafter(at.back(), -kInf));
      above.push_back(std::nextafter(at.back(), kInf));
    }
    const std::vector<uint32_t> code_below = encode_all(format, below), code_at = encode_all(format, at),
                                code_above = encode_all(format, above);
    for (size_t i = 0; i < at.size(); ++i) {
      const bool up = threshold(format, numbers, i).goes_up;
      ASSERT_EQ(values[code_below[i]], numbers[i]) << below[i];
      ASSERT_EQ(values[code_above[i]], numbers[i + 1]) << above[i];
      ASSERT_EQ(values[code_at[i]], numbers[i + up]) << at[i];
    }
  });
}

TEST(Codecs, ValuesBeyondTheLastNumberSaturateOrBecomeInfinite) {
  for_each_element([](const Format& format, const std::vector<double>& values) {
    const std::vector<double> numbers = grid(format, values);
    const double most = numbers.back(), least = numbers.front(), step = most - numbers[numbers.size() - 2];
    const std::vector<double> beyond{most + step, 1e30 * most, kInf, least - step, least - 1e30 * most, -kInf};
    const std::vector<uint32_t> codes = encode_all(format, beyond);
    for (size_t i = 0; i < beyond.size(); ++i) {
      const double last = i < 3 ? most : least;
      EXPECT_EQ(values[codes[i]], format.element.saturate ? last : std::copysign(kInf, last)) << beyond[i];
    }
  });
}

TEST(Codecs, NanBecomesTheFormatsOwnOrCodeZero) {
  for_each_element([](const Format& format, const std::vector<double>& values) {
    const uint32_t code = encode_all(format, {std::nan("")})[0];
    const bool has_nan = std::ranges::any_of(values, [](double v) { return std::isnan(v); });
    EXPECT_TRUE(has_nan ? std::isnan(values[code]) : code == 0) << code;
  });
}

}  // namespace
}  // namespace hone
