#include "device/x86/weight_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <string>

namespace hone {
namespace {

using By = CodeMeaning::By;
using Decode = WeightCodec::Decode;

uint32_t bits_of(float x) { return std::bit_cast<uint32_t>(x); }

std::vector<uint8_t> identity(size_t size) {
  std::vector<uint8_t> recode(size);
  std::iota(recode.begin(), recode.end(), uint8_t{0});
  return recode;
}

// Sign bit to bit 7, rank of the magnitude below. Two's complement has one more magnitude than fits; the one that
// occurs with a negative sign only takes the place of -0, which such a code does not have.
bool fit_mirrored(WeightCodec& c) {
  std::vector<uint32_t> magnitudes;  // f32 patterns of |v|, ascending; NaN last
  for (float v : c.values) magnitudes.push_back(std::isnan(v) ? 0x7fc00000 : bits_of(std::abs(v)));
  std::sort(magnitudes.begin(), magnitudes.end());
  magnitudes.erase(std::unique(magnitudes.begin(), magnitudes.end()), magnitudes.end());
  const bool one_too_many = magnitudes.size() == 129;
  if (magnitudes.size() > 129 || magnitudes[0] != 0) return false;
  std::vector<uint8_t> recode;
  for (float v : c.values) {
    const uint32_t m = std::isnan(v) ? 0x7fc00000 : bits_of(std::abs(v));
    const auto rank = std::lower_bound(magnitudes.begin(), magnitudes.end(), m) - magnitudes.begin();
    if (rank == 128 && (!std::signbit(v) || !std::isfinite(v))) return false;
    if (one_too_many && m == 0 && std::signbit(v)) return false;
    if (rank == 128) c.lone_value = v;
    recode.push_back(static_cast<uint8_t>(rank % 128 | (std::signbit(v) ? 0x80 : 0)));
  }
  c.recode = std::move(recode);
  return true;
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
  if (c.by != By::integer) return false;
  const auto [least, most] = std::ranges::minmax(c.values);
  return most - least <= 256 * c.unit && exact_in_bf16(c.unit);
}

// Codes that are looked up; a zero point widens what is looked up by a bit, and AVX2 permutes 16 entries.
bool looked_up(const WeightCodec& c, const X86Target& target) {
  const int most = !target.avx512() ? 4 : 6;
  return c.pairs && c.bits + (c.zero_point_bytes && target.avx512() ? 1 : 0) <= most;
}

void choose_decode(WeightCodec& c, const X86Target& target) {
  if (looked_up(c, target)) {
    c.decode = Decode::words;
    if (target.avx512() && c.planes.size() > 1) {
      c.order = WeightCodec::Order::fields;
      c.field_bits = c.bits == 3 ? 6 : c.bits;
    }
    c.zero_in_index = c.zero_point_bytes && target.avx512();
  } else if (target.has(Feature::avx512_vbmi) && c.pairs && c.stored_bits == 8 && c.zero_point_bytes == 0) {
    c.order = WeightCodec::Order::interleaved;
    c.decode = fit_mirrored(c) ? Decode::mirrored : Decode::bytes256;
  } else {
    c.pairs = c.pairs && (c.zero_point_bytes == 0 || differences_exact_in_bf16(c));
  }
}

void choose_codes(WeightCodec& c, const X86Target& target) {
  c.stored_bits = c.bits == 7 ? 8 : c.bits;  // three planes would cost more than the bit
  c.planes = planes_of_width(c.stored_bits);
  if (c.bits > 8) return;
  if (c.stored_bits < 8) c.order = WeightCodec::Order::halves;
  c.recode = identity(size_t{1} << c.bits);
  c.pairs = c.exact_in_bf16;
  if (c.by < By::expression) choose_decode(c, target);
  const auto zero = std::ranges::find_if(c.values, [](float v) { return bits_of(v) == 0; });
  if (zero != c.values.end()) c.zero_code = c.recode[static_cast<size_t>(zero - c.values.begin())];
}

void choose_scales(WeightCodec& c) {
  const std::vector<float>& scales = c.scale.values;
  if (c.scale.by == ScaleMeaning::By::power_of_two) {
    for (float v : scales) c.scale_recode.push_back(static_cast<uint8_t>(std::isnan(v) ? 255 : std::ilogb(v) + 127));
    c.folds_into_pairs = true;
  }
  if (c.scale.by != ScaleMeaning::By::minifloat) return;
  c.scale_recode = identity(256);
  c.scale_recode[255] = 127;  // one NaN
  c.folds_into_pairs = std::ranges::all_of(scales, [&](float scale) {
    return std::ranges::all_of(c.values, [&](float v) { return exact_in_bf16(double{v} * scale); });
  });
}

WeightCodec make_codec(const Format& format, const X86Target& target) {
  CHECK(prepackable(format).supported(), "{}", to_string(format));
  WeightCodec c{code_meaning(format)};
  choose_codes(c, target);
  choose_scales(c);
  return c;
}

}  // namespace

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

std::shared_ptr<const WeightCodec> weight_codec(const Format& format, const X86Target& target) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, uint32_t>, std::shared_ptr<const WeightCodec>> known;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const WeightCodec>& entry = known[{to_string(format), target.features().bits()}];
  if (!entry) entry = std::make_shared<const WeightCodec>(make_codec(format, target));
  return entry;
}

}  // namespace hone
