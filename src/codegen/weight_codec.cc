#include "codegen/weight_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>

#include "formats/packed.h"

namespace hone {
namespace {

uint32_t bits_of(float x) { return std::bit_cast<uint32_t>(x); }

bool exact_in_bf16(double value) {
  if (!std::isfinite(value) || value == 0) return true;
  const float f = static_cast<float>(value);
  return f == value && std::abs(f) >= 0x1p-126f && (bits_of(f) & 0xffff) == 0;
}

bool same(float a, float b) { return (std::isnan(a) && std::isnan(b)) || bits_of(a) == bits_of(b); }

std::vector<float> floats(const std::vector<double>& values) { return {values.begin(), values.end()}; }

void set_recode(WeightCodec& c, const std::vector<float>& values, std::vector<uint8_t> recode) {
  c.values.assign(size_t{1} << c.stored_bits, 0.f);
  for (size_t code = 0; code < values.size(); ++code) c.values[recode[code]] = values[code];
  c.recode = std::move(recode);
}

std::vector<uint8_t> identity(size_t size) {
  std::vector<uint8_t> recode(size);
  for (size_t i = 0; i < size; ++i) recode[i] = static_cast<uint8_t>(i);
  return recode;
}

// Sign bit to bit 7, rank of the magnitude below. Two's complement has one more magnitude than fits; the one that
// occurs with a negative sign only takes the place of -0, which such a code does not have.
bool fit_mirrored(WeightCodec& c, const std::vector<float>& values) {
  std::vector<uint32_t> magnitudes;  // f32 patterns of |v|, ascending; NaN last
  for (float v : values) magnitudes.push_back(std::isnan(v) ? 0x7fc00000 : bits_of(std::abs(v)));
  std::sort(magnitudes.begin(), magnitudes.end());
  magnitudes.erase(std::unique(magnitudes.begin(), magnitudes.end()), magnitudes.end());
  const bool one_too_many = magnitudes.size() == 129;
  if (magnitudes.size() > 129 || magnitudes[0] != 0) return false;
  std::vector<uint8_t> recode;
  for (float v : values) {
    const uint32_t m = std::isnan(v) ? 0x7fc00000 : bits_of(std::abs(v));
    const auto rank = std::lower_bound(magnitudes.begin(), magnitudes.end(), m) - magnitudes.begin();
    if (rank == 128 && (!std::signbit(v) || !std::isfinite(v))) return false;
    if (one_too_many && m == 0 && std::signbit(v)) return false;
    if (rank == 128) c.lone_value = v;
    recode.push_back(static_cast<uint8_t>(rank % 128 | (std::signbit(v) ? 0x80 : 0)));
  }
  set_recode(c, values, std::move(recode));
  return true;
}

bool fit_integer(WeightCodec& c, const std::vector<float>& values) {
  const float unit = values.size() > 1 ? values[1] : 0;
  if (!std::isfinite(unit) || unit == 0) return false;
  for (const bool is_signed : {true, false}) {
    const auto integer = [&](size_t code) {
      return static_cast<int>(code) - (is_signed && code >= values.size() / 2 ? static_cast<int>(values.size()) : 0);
    };
    bool fits = true;
    for (size_t code = 0; code < values.size() && fits; ++code)
      fits = same(values[code], static_cast<float>(integer(code)) * unit);
    if (!fits) continue;
    std::vector<uint8_t> recode;
    for (size_t code = 0; code < values.size(); ++code) recode.push_back(static_cast<uint8_t>(integer(code)));
    c.is_signed = is_signed;
    c.unit = unit;
    set_recode(c, values, std::move(recode));
    return true;
  }
  return false;
}

// The value that the arithmetic decoder makes of a magnitude field (see WeightDecoder::minifloat): a field below one
// exponent step is a subnormal, found as the difference of two normal numbers.
float minifloat_value(uint32_t magnitude, int mantissa_bits, uint32_t offset, uint32_t nan_from) {
  if (magnitude >= nan_from) return std::numeric_limits<float>::quiet_NaN();
  constexpr uint32_t kStep = 1u << 23;
  const uint32_t field = magnitude << (23 - mantissa_bits);
  if (field >= kStep) return std::bit_cast<float>(field + offset);
  return std::bit_cast<float>(field + offset + kStep) - std::bit_cast<float>(offset + kStep);
}

bool fit_minifloat(WeightCodec& c, const std::vector<float>& values) {
  const size_t half = values.size() / 2;
  for (size_t i = 0; i < half; ++i)
    if (!same(std::isnan(values[i]) ? values[i] : -values[i], values[i + half])) return false;
  uint32_t nan_from = 128;
  for (size_t i = half; i-- > 0 && std::isnan(values[i]);) nan_from = static_cast<uint32_t>(i);
  for (int m = 0; (size_t{1} << m) < half; ++m) {
    const float first_normal = values[size_t{1} << m];
    if (!(first_normal >= 0x1p-120f) || std::isinf(first_normal)) continue;
    const uint32_t offset = bits_of(first_normal) - (1u << 23);
    bool fits = true;
    for (size_t i = 0; i < half && fits; ++i)
      fits = same(values[i], minifloat_value(static_cast<uint32_t>(i), m, offset, nan_from));
    if (!fits) continue;
    std::vector<uint8_t> recode;
    for (size_t code = 0; code < values.size(); ++code)
      recode.push_back(static_cast<uint8_t>(code % half | (code >= half ? 0x80 : 0)));
    c.mantissa_bits = m;
    c.exponent_offset = offset;
    c.nan_from = nan_from;
    set_recode(c, values, std::move(recode));
    return true;
  }
  return false;
}

void choose_byte_decode(WeightCodec& c, const std::vector<float>& values, bool byte_permutes) {
  using Decode = WeightCodec::Decode;
  c.stored_bits = 8;
  if (byte_permutes && c.pairs) {
    c.order = WeightCodec::Order::interleaved;
    c.decode = values.size() <= 64 ? Decode::bytes64 : Decode::mirrored;
    if (c.decode == Decode::mirrored && fit_mirrored(c, values)) return;
    if (c.decode == Decode::mirrored) c.decode = Decode::bytes256;
    return set_recode(c, values, identity(values.size()));
  }
  c.decode = Decode::integer;
  if (fit_integer(c, values)) return;
  c.decode = Decode::minifloat;
  if (fit_minifloat(c, values)) return;
  c.decode = Decode::table;
  set_recode(c, values, identity(values.size()));
}

void choose_element(WeightCodec& c, const Format& format, bool byte_permutes) {
  c.code_bits = format.element.bits;
  if (c.code_bits > 8) {
    c.decode = WeightCodec::Decode::expression;
    c.stored_bits = c.code_bits <= 16 ? 16 : 32;
    return;
  }
  const std::vector<double> exact = code_values(format);
  c.pairs = std::all_of(exact.begin(), exact.end(), exact_in_bf16);
  const std::vector<float> values = floats(exact);
  if (c.code_bits <= 4 && c.pairs) {
    c.decode = WeightCodec::Decode::words;
    c.order = WeightCodec::Order::halves;
    c.stored_bits = c.code_bits == 3 ? 4 : c.code_bits;
    set_recode(c, values, identity(values.size()));
  } else {
    choose_byte_decode(c, values, byte_permutes);
  }
  for (size_t i = 0; i < c.recode.size() && c.zero_code < 0; ++i)
    if (bits_of(values[i]) == 0) c.zero_code = c.recode[i];
}

// E8M0 when every stored scale is a power of two in its range.
bool fit_e8m0(WeightCodec& c, const Format& format) {
  if (format.scale.bits > 8) return false;
  for (double value : scale_values(format)) {
    int exponent = 0;
    if (std::isnan(value)) {
      c.scale_recode.push_back(255);
    } else if (std::frexp(value, &exponent) == 0.5 && exponent - 1 >= -127 && exponent - 1 <= 127) {
      c.scale_recode.push_back(static_cast<uint8_t>(exponent - 1 + 127));
    } else {
      return false;
    }
  }
  return true;
}

WeightCodec make_codec(const Format& format, IsaLevel isa) {
  WeightCodec c;
  choose_element(c, format, isa == IsaLevel::avx512_bf16 && cpu_features().avx512_vbmi);
  if (format.scale.bits == 32) {
    c.scale = WeightCodec::Scale::f32;
  } else if (format.scale.bits != 0) {
    CHECK(fit_e8m0(c, format), "{}", to_string(format));
    c.scale = WeightCodec::Scale::e8m0;
  }
  return c;
}

}  // namespace

Refusal prepackable(const Format& format) {
  const Geometry& g = format.geometry;
  const std::string name = to_string(format);
  if (is_plain_float(format)) return {fmt::format("{} weights are a plain element type, not a packed format", name)};
  const PlaneBytes planes = plane_bytes(format, std::vector<int64_t>{2, 8});
  if (planes.zero_points || planes.global) return {fmt::format("{} has zero points or a global scale", name)};
  const int64_t axis = g.axis < 0 ? g.axis + 2 : g.axis;
  switch (g.kind) {
    case Geometry::Kind::none:
    case Geometry::Kind::tensor:
      break;
    case Geometry::Kind::channel:
      if (axis != 0) return {fmt::format("{} scales the inputs of a weight; kernels read one scale per output", name)};
      break;
    case Geometry::Kind::group:
      if (axis != 1) return {fmt::format("{} has groups across the outputs; kernels read groups along K", name)};
      break;
    case Geometry::Kind::tile:
      return {fmt::format("{} has tiles of scales; kernels read groups along K", name)};
    case Geometry::Kind::flat:
      return {fmt::format("{} has groups that cross rows; kernels read groups along K", name)};
  }
  WeightCodec c;
  if (format.scale.bits != 0 && format.scale.bits != 32 && !fit_e8m0(c, format))
    return {fmt::format("{} has scales that are neither f32 nor powers of two", name)};
  return {};
}

int64_t scale_group(const Format& format) {
  return format.geometry.kind == Geometry::Kind::group ? format.geometry.columns : 0;
}

std::shared_ptr<const WeightCodec> weight_codec(const Format& format, IsaLevel isa) {
  // Running the format's decode expression over all codes takes longer than loading a compiled kernel, and every weight
  // of a model asks again.
  static std::mutex mutex;
  static std::map<std::pair<std::string, IsaLevel>, std::shared_ptr<const WeightCodec>> known;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const WeightCodec>& entry = known[{to_string(format), isa}];
  if (!entry) entry = std::make_shared<const WeightCodec>(make_codec(format, isa));
  return entry;
}

}  // namespace hone
