#include "kernels/code_meaning.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <string>

#include "formats/group_scales.h"
#include "formats/packed.h"
#include "formats/scale.h"

namespace hone {
namespace {

using By = CodeMeaning::By;

uint32_t bits_of(float x) { return std::bit_cast<uint32_t>(x); }

bool same(float a, float b) { return (std::isnan(a) && std::isnan(b)) || bits_of(a) == bits_of(b); }

// A field below one exponent step is a subnormal, found as the difference of two normal numbers.
float minifloat_value(const CodeMeaning& m, uint32_t magnitude) {
  if (magnitude >= m.nan_from) return std::numeric_limits<float>::quiet_NaN();
  if (magnitude == m.infinity) return std::numeric_limits<float>::infinity();
  constexpr uint32_t kStep = 1u << 23;
  const uint32_t field = magnitude << (23 - m.mantissa_bits);
  if (field >= kStep) return std::bit_cast<float>(field + m.exponent_offset);
  return std::bit_cast<float>(field + m.exponent_offset + kStep) - std::bit_cast<float>(m.exponent_offset + kStep);
}

bool fits(const CodeMeaning& m, const std::vector<float>& values) {
  for (uint32_t code = 0; code < values.size(); ++code)
    if (!same(values[code], number_of(m, code))) return false;
  return true;
}

bool find_integer(CodeMeaning& m, const std::vector<float>& values) {
  m.by = By::integer;
  m.unit = values[1];
  if (!std::isfinite(m.unit) || m.unit == 0) return false;
  for (const bool is_signed : {true, false}) {
    m.is_signed = is_signed;
    if (fits(m, values)) return true;
  }
  return false;
}

bool find_minifloat(CodeMeaning& m, const std::vector<float>& values) {
  m.by = By::minifloat;
  const size_t half = values.size() / 2;
  size_t numbers = half;
  while (numbers > 0 && std::isnan(values[numbers - 1])) --numbers;
  if (numbers < half) m.nan_from = static_cast<uint32_t>(numbers);
  if (numbers > 0 && std::isinf(values[numbers - 1])) m.infinity = static_cast<uint32_t>(numbers - 1);
  for (m.mantissa_bits = 0; (size_t{1} << m.mantissa_bits) < half; ++m.mantissa_bits) {
    const float first_normal = values[size_t{1} << m.mantissa_bits];
    if (!(first_normal >= 0x1p-120f) || std::isinf(first_normal)) continue;
    m.exponent_offset = bits_of(first_normal) - (1u << 23);
    if (fits(m, values)) return true;
  }
  return false;
}

// Of codes with a value of their own.
void find_numbers(CodeMeaning& m, const Format& format) {
  m.by = By::expression;
  if (m.bits > 16) return;
  const std::vector<double> exact = code_values(format);
  const std::vector<float> values(exact.begin(), exact.end());
  const bool found = find_integer(m, values) || find_minifloat(m, values);
  if (!found) m.by = m.bits <= 8 ? By::table : By::expression;
  if (m.bits > 8) return;
  m.values = values;
  m.exact_in_bf16 = std::ranges::all_of(exact, exact_in_bf16);
}

// What m says of a code whose value without scale is `number`.
float value_in_group(const CodeMeaning& m, uint32_t code, double number, std::span<const double> scales, double zero) {
  if (m.by != By::signs) {
    const float x = static_cast<float>(number) - static_cast<float>(zero);
    return scales.empty() ? x : x * static_cast<float>(scales[0]);
  }
  float sum = 0;
  for (size_t level = 0; level < scales.size(); ++level) {
    const auto scale = static_cast<float>(scales[level]), term = code >> level & 1 ? -scale : scale;
    sum = level ? sum + term : term;
  }
  return sum;
}

// Whether the format's own rule for a value in its group gives what m says of it: tried for codes of the whole range
// under a few scales and zero points. A kind without such a rule multiplies.
bool means_so_in_groups(const CodeMeaning& m, const Format& format) {
  if (!format.scale_kind->restore) return true;
  const Expr code = Expr::arg(0, Scalar::u32);
  const Program program = flatten(std::array{cast(Scalar::f64, format.codec->decode(format.element, code)),
                                             decoded(format, code, group_args(format))});
  constexpr int kCodes = 32;
  const double highest = std::exp2(std::min(m.bits, 32)) - 1;
  for (const float scale : {1.f, 0.3f, 0x1.8p-20f})
    for (int i = 0; i < kCodes; ++i) {
      const auto tried = static_cast<uint32_t>(highest * i / (kCodes - 1));
      const double zero = m.zero_point_bytes ? std::floor(highest * (kCodes - 1 - i) / kCodes) : 0;
      std::vector<double> scales;
      for (int level = 0; level < scales_per_group(format); ++level)
        scales.push_back(scale * static_cast<float>(1 + level));
      std::vector<uint64_t> args{tried};
      for (const double s : scales) args.push_back(std::bit_cast<uint64_t>(s));
      if (m.zero_point_bytes) args.push_back(std::bit_cast<uint64_t>(zero));
      args.resize(std::max(args.size(), program.args.size()));
      const std::vector<uint64_t> found = evaluate(program, args);
      const double number = std::bit_cast<double>(found[0]);
      const float want = std::bit_cast<float>(static_cast<uint32_t>(found[1]));
      if (!same(want, value_in_group(m, tried, number, scales, zero))) return false;
    }
  return true;
}

bool is_power_of_two(double value) {
  int exponent = 0;
  return std::frexp(value, &exponent) == 0.5;
}

bool find_scale_minifloat(ScaleMeaning& s, const std::vector<double>& values) {
  if (values.size() != 256) return false;
  for (int mantissa = 1; mantissa < 7; ++mantissa) {
    const auto pattern = [&](uint32_t code) { return std::bit_cast<float>(code << (23 - mantissa)); };
    const double unit = values[64] / pattern(64);
    bool fits = unit < 0x1p127 && std::isnan(values[127]) && std::isnan(values[255]);
    for (uint32_t code = 0; code < 127 && fits; ++code)
      fits = values[code] == pattern(code) * unit && values[code + 128] == -values[code];
    if (!fits) continue;
    s.mantissa_bits = mantissa, s.unit = static_cast<float>(unit);
    return true;
  }
  return false;
}

ScaleMeaning::By find_scale(ScaleMeaning& s, const Format& format) {
  using By = ScaleMeaning::By;
  if (s.bits == 32) return By::f32;
  if (s.bits == 16 && scale_value(format, 0x3f80) == 1) return By::bf16;
  if (s.bits == 16 && scale_value(format, 0x3c00) == 1) return By::f16;
  if (s.bits > 8) return By::unknown;
  const std::vector<double> values = scale_values(format);
  s.values.assign(values.begin(), values.end());
  s.powers_of_two = std::ranges::all_of(values, [](double v) { return std::isnan(v) || is_power_of_two(v); });
  const bool in_range = std::ranges::all_of(values, [](double v) { return !(v < 0x1p-127) && !(v > 0x1p127); });
  if (s.powers_of_two && in_range) return By::power_of_two;
  return find_scale_minifloat(s, values) ? By::minifloat : By::unknown;
}

CodeMeaning find_meaning(const Format& format) {
  CodeMeaning m;
  m.bits = format.element.bits;
  if (is_fake_only(format)) return m;
  m.levels = std::max(1, scales_per_group(format));
  m.has_global = plane_bytes(format, std::vector<int64_t>{1, 1}).global > 0;
  m.zero_point_bytes = zero_point_bytes(format);
  if (is_residual(format)) m.by = By::signs;
  else find_numbers(m, format);
  m.scale.bits = format.scale_kind->code ? format.scale.bits : 0;
  if (m.scale.bits) m.scale.by = find_scale(m.scale, format);
  if (means_so_in_groups(m, format)) return m;
  m.by = By::group_expression;
  m.values.clear(), m.exact_in_bf16 = false;
  if (m.scale.bits) m.scale.by = ScaleMeaning::By::code;
  return m;
}

}  // namespace

float number_of(const CodeMeaning& m, uint32_t code) {
  const uint32_t sign = 1u << (m.bits - 1);
  switch (m.by) {
    case By::integer: {
      const auto integer = static_cast<int64_t>(code) - (m.is_signed && code >= sign ? int64_t{2} * sign : 0);
      return static_cast<float>(integer) * m.unit;
    }
    case By::minifloat: {
      const float magnitude = minifloat_value(m, code & (sign - 1));
      return code & sign ? -magnitude : magnitude;
    }
    case By::table:
      return m.values[code];
    default:
      CHECK(false, "codes that have no number by rule or table");
  }
}

const CodeMeaning& code_meaning(const Format& format) {
  // Running the format's decode expression over all codes takes longer than loading a compiled kernel, and every weight
  // of a model asks again.
  static std::mutex mutex;
  static std::map<std::string, CodeMeaning> known;
  const std::lock_guard lock(mutex);
  const std::string name = to_string(format);
  if (const auto found = known.find(name); found != known.end()) return found->second;
  return known.emplace(name, find_meaning(format)).first->second;
}

Support prepackable(const Format& format) {
  if (is_plain_float(format))
    return {fmt::format("{} weights are a plain element type, not a packed format", to_string(format))};
  const CodeMeaning& m = code_meaning(format);
  if (m.scale.by == ScaleMeaning::By::unknown)
    return {fmt::format("{} has scales that kernels can't decode", to_string(format))};
  if (m.by == CodeMeaning::By::group_expression &&
      (m.bits > 8 || m.scale.bits > 8 || m.zero_point_bytes || m.has_global))
    return {fmt::format("{} has a rule for values that kernels can't read in such codes", to_string(format))};
  return {};
}

Program group_value(const Format& format) {
  GroupValues group;
  int next = 1;
  for (int level = 0; level < scales_per_group(format); ++level)
    group.scales.push_back(format.scale_kind->value(format, Expr::arg(next++, Scalar::u32)));
  if (format.scale_kind->zero_point) group.zero_point = cast(Scalar::f64, Expr::arg(next, Scalar::u32));
  return flatten(decoded(format, Expr::arg(0, Scalar::u32), group));
}

bool exact_in_bf16(double value) {
  if (!std::isfinite(value) || value == 0) return true;
  const auto f = static_cast<float>(value);
  return f == value && std::abs(f) >= 0x1p-126f && (bits_of(f) & 0xffff) == 0;
}

}  // namespace hone
