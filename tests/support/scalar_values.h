// Values of the expression language in tests: bit patterns of C++ numbers, comparison up to NaN, and values that find
// mistakes.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/philox.h"
#include "expr/expr.h"

namespace hone::test {

inline uint64_t bits(float x) { return std::bit_cast<uint32_t>(x); }
inline uint64_t bits(double x) { return std::bit_cast<uint64_t>(x); }
inline uint64_t bits(int32_t x) { return static_cast<uint32_t>(x); }
inline uint64_t bits(uint32_t x) { return x; }
inline uint64_t bits(int64_t x) { return static_cast<uint64_t>(x); }
inline uint64_t bits(uint64_t x) { return x; }
inline uint64_t bits(bool x) { return x; }

inline float as_f32(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
inline double as_f64(uint64_t bits) { return std::bit_cast<double>(bits); }

inline bool is_nan(Scalar type, uint64_t bits) {
  return type == Scalar::f32 ? std::isnan(as_f32(bits)) : type == Scalar::f64 && std::isnan(as_f64(bits));
}

// Equal bits, or two NaNs: their payloads and signs are not specified.
inline bool same_value(Scalar type, uint64_t a, uint64_t b) { return a == b || (is_nan(type, a) && is_nan(type, b)); }

inline constexpr Scalar kScalars[] = {Scalar::f32, Scalar::f64, Scalar::i32,    Scalar::u32,
                                      Scalar::i64, Scalar::u64, Scalar::boolean};

// Zeros, ones, limits, ties, infinities and NaN of a type.
inline std::vector<uint64_t> edge_values(Scalar type) {
  std::vector<uint64_t> values;
  if (type == Scalar::boolean) return {0, 1};
  if (!is_float(type)) {
    const uint64_t mask = ~uint64_t{0} >> (64 - width_bits(type)), top = uint64_t{1} << (width_bits(type) - 1);
    for (uint64_t v : {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{7}, uint64_t{31}, uint64_t{33}, top, top - 1,
                       top + 1, mask, mask - 1})
      values.push_back(v & mask);
    return values;
  }
  for (double v : {0.0, 1.0, 0.5, 1.5, 2.0, 2.5, 0.3, 3.7, 1e-3, 100.25, 8388607.5, 2147483647.0, 2147483648.0,
                   4294967040.0, 4294967296.0, 9223372036854775808.0, 18446744073709551616.0, 1e-40, 1e30}) {
    for (double x : {v, -v}) values.push_back(type == Scalar::f32 ? bits(static_cast<float>(x)) : bits(x));
  }
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (double x : {infinity, -infinity, nan})
    values.push_back(type == Scalar::f32 ? bits(static_cast<float>(x)) : bits(x));
  return values;
}

// An edge value, a small number, or any bits that are not a NaN.
inline uint64_t random_value(Scalar type, Philox& rng) {
  const std::vector<uint64_t> edges = edge_values(type);
  const uint32_t kind = rng.below(3);
  if (kind == 0 || type == Scalar::boolean) return edges[rng.below(static_cast<uint32_t>(edges.size()))];
  if (kind == 1) {
    const int32_t small = static_cast<int32_t>(rng.below(65)) - 32;
    if (type == Scalar::f32) return bits(static_cast<float>(small) * 0.375f);
    if (type == Scalar::f64) return bits(small * 0.375);
    return bits(int64_t{small}) & ~uint64_t{0} >> (64 - width_bits(type));
  }
  const uint64_t any = rng.next64() >> (64 - width_bits(type));
  return is_nan(type, any) ? 0 : any;
}

}  // namespace hone::test
