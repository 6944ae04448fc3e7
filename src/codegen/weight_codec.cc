#include "codegen/weight_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>

#include "formats/group_scales.h"
#include "formats/packed.h"
#include "formats/scale.h"

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
  c.values.assign(size_t{1} << c.bits, 0.f);
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

int integer_of(size_t code, size_t codes, bool is_signed) {
  return static_cast<int>(code) - (is_signed && code >= codes / 2 ? static_cast<int>(codes) : 0);
}

// Sets is_signed and unit.
bool are_integers(WeightCodec& c, const std::vector<float>& values) {
  c.unit = values.size() > 1 ? values[1] : 0;
  if (!std::isfinite(c.unit) || c.unit == 0) return false;
  for (const bool is_signed : {true, false}) {
    c.is_signed = is_signed;
    bool fits = true;
    for (size_t code = 0; code < values.size() && fits; ++code)
      fits = same(values[code], static_cast<float>(integer_of(code, values.size(), is_signed)) * c.unit);
    if (fits) return true;
  }
  return false;
}

bool fit_integer(WeightCodec& c, const std::vector<float>& values) {
  if (!are_integers(c, values)) return false;
  std::vector<uint8_t> recode;
  for (size_t code = 0; code < values.size(); ++code)
    recode.push_back(static_cast<uint8_t>(integer_of(code, values.size(), c.is_signed) & ((1 << c.bits) - 1)));
  set_recode(c, values, std::move(recode));
  return true;
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

// Sets what decoding takes.
bool are_minifloats(WeightCodec& c, const std::vector<float>& values) {
  const size_t half = values.size() / 2;
  for (size_t i = 0; i < half; ++i)
    if (!same(std::isnan(values[i]) ? values[i] : -values[i], values[i + half])) return false;
  c.nan_from = WeightCodec::kNoNan;
  for (size_t i = half; i-- > 0 && std::isnan(values[i]);) c.nan_from = static_cast<uint32_t>(i);
  for (int m = 0; (size_t{1} << m) < half; ++m) {
    const float first_normal = values[size_t{1} << m];
    if (!(first_normal >= 0x1p-120f) || std::isinf(first_normal)) continue;
    const uint32_t offset = bits_of(first_normal) - (1u << 23);
    bool fits = true;
    for (size_t i = 0; i < half && fits; ++i)
      fits = same(values[i], minifloat_value(static_cast<uint32_t>(i), m, offset, c.nan_from));
    c.mantissa_bits = m;
    c.exponent_offset = offset;
    if (fits) return true;
  }
  return false;
}

bool fit_minifloat(WeightCodec& c, const std::vector<float>& values) {
  if (!are_minifloats(c, values)) return false;
  const size_t half = values.size() / 2;
  std::vector<uint8_t> recode;
  for (size_t code = 0; code < values.size(); ++code)
    recode.push_back(static_cast<uint8_t>(code % half | (code >= half ? size_t{1} << (c.bits - 1) : 0)));
  set_recode(c, values, std::move(recode));
  return true;
}

WeightCodec::Decode decode_of_wide(WeightCodec& c, const Format& format) {
  if (c.code_bits > 16 || c.levels > 1 || is_restored(format)) return WeightCodec::Decode::expression;
  const std::vector<float> values = floats(code_values(format));
  if (are_integers(c, values)) return WeightCodec::Decode::integer;
  return are_minifloats(c, values) ? WeightCodec::Decode::minifloat : WeightCodec::Decode::expression;
}

// Powers of two that add up to `bits`, the widest first.
std::vector<int> planes_of_width(int bits) {
  std::vector<int> planes;
  for (int width = 32; width > 0; width /= 2)
    if (bits & width) planes.push_back(width);
  return planes;
}

// Integers that differ by at most 256 units: codes less zero points are exact in bf16.
bool differences_exact_in_bf16(const WeightCodec& c) {
  const auto [least, most] = std::minmax_element(c.values.begin(), c.values.end());
  return *most - *least <= 256 * c.unit && exact_in_bf16(c.unit);
}

void choose_byte_decode(WeightCodec& c, const std::vector<float>& values, bool byte_permutes) {
  using Decode = WeightCodec::Decode;
  if (byte_permutes && c.pairs && c.bits == 8 && c.zero_point_bytes == 0) {
    c.order = WeightCodec::Order::interleaved;
    c.decode = Decode::mirrored;
    if (fit_mirrored(c, values)) return;
    c.decode = Decode::bytes256;
    return set_recode(c, values, identity(values.size()));
  }
  c.decode = Decode::integer;
  if (fit_integer(c, values)) {
    c.pairs &= c.zero_point_bytes == 0 || differences_exact_in_bf16(c);
    return;
  }
  c.pairs &= c.zero_point_bytes == 0;
  c.decode = Decode::minifloat;
  if (fit_minifloat(c, values)) return;
  c.decode = Decode::table;
  set_recode(c, values, identity(values.size()));
}

// Codes that are looked up; a zero point widens what is looked up by a bit, and AVX2 permutes 16 entries.
bool looked_up(const WeightCodec& c, const Target& target) {
  const int most = !target.avx512() ? 4 : 6;
  return c.pairs && c.code_bits + (c.zero_point_bytes && target.avx512() ? 1 : 0) <= most;
}

void choose_element(WeightCodec& c, const Format& format, const Target& target) {
  c.code_bits = c.bits = format.element.bits;
  if (c.code_bits == 7) c.bits = 8;  // three planes would cost more than the bit
  c.planes = planes_of_width(c.bits);
  if (c.code_bits > 8) {
    c.decode = decode_of_wide(c, format);
    return;
  }
  if (c.bits < 8) c.order = WeightCodec::Order::halves;
  if (c.levels > 1 || is_restored(format)) {
    c.decode = c.levels > 1 ? WeightCodec::Decode::signs : WeightCodec::Decode::restored;
    c.recode = identity(size_t{1} << c.bits);
    return;
  }
  const std::vector<double> exact = code_values(format);
  c.pairs = std::all_of(exact.begin(), exact.end(), exact_in_bf16);
  const std::vector<float> values = floats(exact);
  if (looked_up(c, target)) {
    c.decode = WeightCodec::Decode::words;
    if (target.avx512() && c.planes.size() > 1) {
      c.order = WeightCodec::Order::fields;
      c.field_bits = c.bits == 3 ? 6 : c.bits;
    }
    c.zero_in_index = c.zero_point_bytes && target.avx512();
    set_recode(c, values, identity(values.size()));
  } else {
    choose_byte_decode(c, values, target.has(Feature::avx512_vbmi));
  }
  for (size_t i = 0; i < c.recode.size() && c.zero_code < 0; ++i)
    if (bits_of(values[i]) == 0) c.zero_code = c.recode[i];
}

// E8M0 when every stored scale is a power of two in its range.
bool fit_e8m0(WeightCodec& c, const std::vector<double>& values) {
  c.scale_recode.clear();
  for (double value : values) {
    int exponent = 0;
    if (std::isnan(value)) {
      c.scale_recode.push_back(255);
    } else if (std::frexp(value, &exponent) == 0.5 && exponent - 1 >= -127 && exponent - 1 <= 127) {
      c.scale_recode.push_back(static_cast<uint8_t>(exponent - 1 + 127));
    } else {
      return false;
    }
  }
  c.scale = WeightCodec::Scale::e8m0;
  c.folds_into_pairs = true;
  return true;
}

// Eight bits whose f32 pattern, exponent and mantissa in place, is the value but for a power of two; 0x7f and 0xff may
// be NaN.
bool fit_scale_minifloat(WeightCodec& c, const std::vector<double>& values) {
  if (values.size() != 256) return false;
  for (int mantissa = 1; mantissa < 7; ++mantissa) {
    const auto pattern = [&](uint32_t code) { return std::bit_cast<float>(code << (23 - mantissa)); };
    const double unit = values[64] / pattern(64);
    bool fits = unit < 0x1p127 && std::isnan(values[127]) && std::isnan(values[255]);
    for (uint32_t code = 0; code < 127 && fits; ++code)
      fits = values[code] == pattern(code) * unit && values[code + 128] == -values[code];
    if (!fits) continue;
    c.scale = WeightCodec::Scale::minifloat;
    c.scale_mantissa_bits = mantissa, c.scale_unit = static_cast<float>(unit);
    c.scale_recode = identity(256);
    c.scale_recode[255] = 127;  // one NaN
    c.folds_into_pairs = std::ranges::all_of(values, [&](double scale) {
      return std::ranges::all_of(c.values, [&](float v) { return exact_in_bf16(v * scale); });
    });
    return true;
  }
  return false;
}

bool fit_scale(WeightCodec& c, const Format& format) {
  using Scale = WeightCodec::Scale;
  const int bits = format.scale.bits;
  if (is_restored(format)) {
    c.scale = Scale::code;
    return bits <= 8 && format.element.bits <= 8;
  }
  if (bits == 32) c.scale = Scale::f32;
  if (bits == 16) c.scale = scale_value(format, 0x3f80) == 1 ? Scale::bf16 : Scale::f16;
  if (bits == 16 && scale_value(format, 0x3f80) != 1 && scale_value(format, 0x3c00) != 1) return false;
  if (bits == 0 || bits == 16 || bits == 32) return true;
  if (bits > 8) return false;
  const std::vector<double> values = scale_values(format);
  return fit_e8m0(c, values) || fit_scale_minifloat(c, values);
}

WeightCodec make_codec(const Format& format, const Target& target) {
  WeightCodec c;
  c.zero_point_bytes = zero_point_bytes(format);
  c.levels = std::max(1, scales_per_group(format));
  c.has_global = plane_bytes(format, std::vector<int64_t>{1, 1}).global > 0;
  choose_element(c, format, target);
  CHECK(fit_scale(c, format), "{}", to_string(format));
  return c;
}

}  // namespace

Refusal prepackable(const Format& format) {
  if (is_plain_float(format))
    return {fmt::format("{} weights are a plain element type, not a packed format", to_string(format))};
  if (WeightCodec c; !fit_scale(c, format))
    return {fmt::format("{} has scales that kernels can't decode", to_string(format))};
  return {};
}

std::vector<FieldPiece> field_pieces(int field_bits) {
  const int parts = std::gcd(field_bits, 8), rows = field_bits / parts, words = 8 / parts;
  std::vector<FieldPiece> pieces;
  int row = 0, from = field_bits;
  for (int word = rows; word < words; ++word)
    for (int to = 0; to < field_bits;) {
      const int bits = std::min(field_bits - to, 8 - from);
      pieces.push_back({word, row, from, bits, to});
      to += bits, from += bits;
      if (from == 8) ++row, from = field_bits;
    }
  return pieces;
}

bool is_restored(const Format& format) {
  const ScaleKind& kind = *format.scale_kind;
  return kind.code && kind.restore && !kind.zero_point && !is_residual(format);
}

Program restored_value(const Format& format) {
  const Expr code = Expr::arg(0, Scalar::u32), scale = Expr::arg(1, Scalar::u32);
  return flatten(decoded(format, code, {{format.scale_kind->value(format, scale)}, Expr(0.0), {}}));
}

ScaleGrid scale_grid(const Format& format) {
  const Geometry& g = format.geometry;
  const bool outputs = g.axis == 0 || g.axis == -2;
  switch (g.kind) {
    case Geometry::Kind::none:
    case Geometry::Kind::tensor:
      return {};
    case Geometry::Kind::channel:
      return outputs ? ScaleGrid{1, 0} : ScaleGrid{0, 1};
    case Geometry::Kind::group:
      return outputs ? ScaleGrid{g.columns, 1} : ScaleGrid{1, g.columns};
    case Geometry::Kind::tile:
      return {g.rows, g.columns};
    case Geometry::Kind::flat:
      return {.rows = 1, .columns = g.columns, .flat = true};
  }
  CHECK(false);
}

std::shared_ptr<const WeightCodec> weight_codec(const Format& format, const Target& target) {
  // Running the format's decode expression over all codes takes longer than loading a compiled kernel, and every weight
  // of a model asks again.
  static std::mutex mutex;
  static std::map<std::pair<std::string, uint32_t>, std::shared_ptr<const WeightCodec>> known;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const WeightCodec>& entry = known[{to_string(format), target.features().bits()}];
  if (!entry) entry = std::make_shared<const WeightCodec>(make_codec(format, target));
  return entry;
}

}  // namespace hone
