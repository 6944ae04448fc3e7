#include "passes/canonical/affine_encoding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace hone {
namespace {

// The small floats that formats have codes of.
const char* float_head(DType dtype) {
  if (dtype == DType::f8e4m3fn) return "fp8_e4m3";
  if (dtype == DType::f8e5m2) return "fp8_e5m2";
  return dtype == DType::f4e2m1 ? "fp4" : nullptr;
}

// Integers in as few bits as formats are stored in well; 0 when 16 do not do.
struct Range {
  int64_t low = 0, high = 0;
  void include(int64_t value) { low = std::min(low, value), high = std::max(high, value); }
  int signed_bits() const {
    return bits([](int64_t w) { return -(int64_t{1} << (w - 1)); }, 1);
  }
  int unsigned_bits() const {
    return bits([](int64_t) { return int64_t{0}; }, 0);
  }

 private:
  template <class Lowest>
  int bits(Lowest lowest, int sign) const {
    for (int w : {2, 4, 8, 16})
      if (low >= lowest(w) && high < int64_t{1} << (w - sign)) return w;
    return 0;
  }
};

std::vector<uint32_t> shifted(std::span<const int64_t> values, int64_t by, int bits) {
  std::vector<uint32_t> codes;
  for (int64_t value : values) codes.push_back(static_cast<uint32_t>((value + by) & ((int64_t{1} << bits) - 1)));
  return codes;
}

std::vector<uint32_t> f32_codes(std::span<const double> scales) {
  std::vector<uint32_t> codes;
  for (double scale : scales) codes.push_back(std::bit_cast<uint32_t>(static_cast<float>(scale)));
  return codes;
}

// Scale codes of an MX format whose elements have that many fraction bits; none unless all scales are powers of two.
std::optional<std::vector<uint32_t>> pow2_codes(std::span<const double> scales, int fraction_bits) {
  std::vector<uint32_t> codes;
  for (double scale : scales) {
    int exponent;
    const bool is_power = std::frexp(scale, &exponent) == 0.5;
    const int code = exponent - 1 + fraction_bits + 127;
    if (!is_power || code < 0 || code > 254) return std::nullopt;
    codes.push_back(static_cast<uint32_t>(code));
  }
  return codes;
}

std::optional<Encoding> encode_integers(Range range, std::span<const int64_t> zeros, std::span<const double> scales,
                                        bool are_blocks) {
  if (std::adjacent_find(zeros.begin(), zeros.end(), std::not_equal_to<>()) == zeros.end()) {
    const int64_t zero = zeros[0];
    const int bits =
        Range{std::min<int64_t>(range.low - zero, 0), std::max<int64_t>(range.high - zero, 0)}.signed_bits();
    if (bits == 0) return std::nullopt;
    const auto powers = are_blocks && bits <= 8 ? pow2_codes(scales, bits - 2) : std::nullopt;
    return Encoding{
        fmt::format("{}{}", powers ? "mxint" : "int", bits), bits, -zero, powers ? *powers : f32_codes(scales), {}};
  }
  range.include(0);
  for (int64_t zero : zeros) range.include(zero);
  const int bits = range.low < 0 ? range.signed_bits() : range.unsigned_bits();
  if (bits == 0) return std::nullopt;
  const int64_t by = range.low < 0 ? int64_t{1} << (bits - 1) : 0;
  return Encoding{fmt::format("uint{}", bits), bits, by, f32_codes(scales), shifted(zeros, by, bits)};
}

std::optional<Encoding> encode_floats(DType dtype, std::span<const int64_t> zeros, std::span<const double> scales,
                                      bool are_blocks) {
  if (std::any_of(zeros.begin(), zeros.end(), [](int64_t zero) { return zero != 0; })) return std::nullopt;
  const char* const head = float_head(dtype);
  if (!head) return std::nullopt;
  const auto powers = are_blocks ? pow2_codes(scales, 0) : std::nullopt;
  if (!powers && dtype == DType::f4e2m1) return std::nullopt;
  return Encoding{.head = std::string(powers ? "mx" : "") + head,
                  .scales = powers ? *powers : f32_codes(scales),
                  .zero_points = {}};
}

// Zero points that are whole numbers, whatever their type; one 0 where there are none.
std::optional<std::vector<int64_t>> zeros_of(const AffineWeight& weight, const std::vector<int64_t>& firsts) {
  std::vector<int64_t> zeros(firsts.size(), 0);
  if (!weight.zero_point) return zeros;
  const std::vector<double> values = values_at(weight, *weight.zero_point, firsts);
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::trunc(values[i]) != values[i] || std::abs(values[i]) > 0xffff) return std::nullopt;
    zeros[i] = static_cast<int64_t>(values[i]);
  }
  return zeros;
}

Range range_of(const Tensor& codes) {
  Range range{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  for (const Rows& rows : parts_of(codes.shape()))
    for (int64_t code : rows_of(codes, rows).to_integers()) range.include(code);
  return range;
}

}  // namespace

std::vector<uint32_t> codes_of(const Tensor& codes, const Encoding& encoding) {
  if (is_integer(codes.dtype())) return shifted(codes.to_integers(), encoding.by, encoding.bits);
  std::vector<uint32_t> bits;
  for (std::byte code : codes.data().bytes()) bits.push_back(std::to_integer<uint32_t>(code));
  return bits;
}

std::optional<Encoding> encoding_of(const AffineWeight& weight, const std::vector<int64_t>& firsts, bool are_blocks) {
  const std::optional<std::vector<int64_t>> zeros = zeros_of(weight, firsts);
  if (!zeros) return std::nullopt;
  const std::vector<double> scales = values_at(weight, weight.scale, firsts);
  if (!is_integer(weight.codes.dtype())) return encode_floats(weight.codes.dtype(), *zeros, scales, are_blocks);
  const Range range = range_of(weight.codes);
  constexpr int64_t kFar = 1 << 20;  // beyond all codes less zero points of 16 bits
  if (range.low < -kFar || range.high > kFar) return std::nullopt;
  return encode_integers(range, *zeros, scales, are_blocks);
}

}  // namespace hone
