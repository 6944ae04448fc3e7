#include "io/mase/mxint8.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "formats/packed.h"

namespace hone {
namespace {

float of_bf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

// The difference of two bf16 numbers of one exponent is one of them: the rounding changes nothing.
uint16_t to_bf16(float value) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16); }

bool are_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

const char* place_of(uint8_t mantissa, uint8_t scale) {
  return scale == 0 ? "scale 0" : scale == 255 ? "scale 255" : mantissa == 0x80 ? "mantissa -128" : "elsewhere";
}

// hone's decoding of all pairs: a group for each scale, an element for each mantissa.
std::vector<float> decoded_by_format() {
  const Format format = parse_format("mxint8.g256.compat=mase-cuda");
  const int64_t shape[] = {256, 256};
  std::vector<uint32_t> codes, scales;
  for (uint32_t scale = 0; scale < 256; ++scale) {
    scales.push_back(scale);
    for (uint32_t mantissa = 0; mantissa < 256; ++mantissa) codes.push_back(mantissa);
  }
  const Planes planes = planes_of(format, shape, codes, scales, {});
  std::vector<float> values(codes.size());
  unpack(format, shape, {planes.codes, planes.scales, planes.zero_points, planes.global}, values);
  return values;
}

}  // namespace

Mxint8Decoding mxint8_decoding(uint8_t mantissa, uint8_t scale) {
  const int magnitude = std::abs(static_cast<int>(static_cast<int8_t>(mantissa)));
  Mxint8Decoding d;
  d.sign = static_cast<uint16_t>((mantissa & 0x80) << 8);
  d.exponent = static_cast<uint16_t>(scale << 7);
  d.fraction = static_cast<uint16_t>((magnitude & 0x3F) << 1);
  d.packed = static_cast<uint16_t>(d.sign | d.exponent | d.fraction);
  d.dont_need_abs = (magnitude & 0x40) != 0;
  d.bias = static_cast<uint16_t>(d.sign | d.exponent);
  d.value = d.dont_need_abs ? of_bf16(d.packed) : of_bf16(to_bf16(of_bf16(d.packed) - of_bf16(d.bias)));
  return d;
}

double mxint8_value(uint8_t mantissa, uint8_t scale) {
  if (scale == 255) return std::numeric_limits<double>::quiet_NaN();
  return std::ldexp(static_cast<double>(static_cast<int8_t>(mantissa)), scale - 127 - 6);
}

Mxint8Pairs compare_mxint8_pairs() {
  const std::vector<float> by_format = decoded_by_format();
  Mxint8Pairs result;
  for (int scale = 0; scale < 256; ++scale)
    for (int mantissa = 0; mantissa < 256; ++mantissa) {
      const auto m = static_cast<uint8_t>(mantissa), s = static_cast<uint8_t>(scale);
      const double kernel = mxint8_decoding(m, s).value, formula = mxint8_value(m, s);
      ++result.pairs;
      result.same_bits += are_same(kernel, by_format[static_cast<size_t>(scale * 256 + mantissa)]);
      if (are_same(kernel, formula)) {
        ++result.by_formula;
        continue;
      }
      const std::string where = place_of(m, s);
      const auto known = std::ranges::find(result.departures, where, &Mxint8Departure::where);
      if (known == result.departures.end()) result.departures.push_back({where, 1, m, s, kernel, formula});
      else ++known->pairs;
    }
  return result;
}

Mxint8Tiling mxint8_tiling(int64_t group, int64_t groups) {
  if (group < 1 || groups < 1) fail("{} groups of {}: at least one of one element", groups, group);
  constexpr int64_t kThreads = 1024;
  int64_t elements = 8;
  while (elements < group && elements < 128) elements *= 2;
  const auto parts = [](int64_t all, int64_t part) { return (all - 1) / part + 1; };
  const int64_t at_once = kThreads / elements;
  return {.tile_elements = elements,
          .tile_groups = at_once,
          .grid_x = parts(group, elements),
          .grid_y = parts(groups, at_once),
          .shared_bytes = kThreads + at_once};
}

}  // namespace hone
