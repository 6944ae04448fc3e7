// Quotients by numbers that stay the same in a launch: a product and a shift, with a multiplier from the host. Granlund
// and Montgomery, "Division by invariant integers using multiplication" (1994).
#pragma once

#include <bit>
#include <cstdint>

#include "base/error.h"
#include "device/cuda/emitter.h"

namespace hone {

inline constexpr int64_t kMostDivided = (int64_t{1} << 31) - 1;

// With 2^s the first power of two from d on, ceil(2^(31+s) / d) has 32 bits and exceeds the quotient by less than
// 2^s / d <= 1: n times that is off by less than 2^(31+s) for n < 2^31. The multiplier, and the shift above it.
inline int64_t inverse_of(int64_t divisor) {
  CHECK(divisor > 0 && divisor <= kMostDivided, "a division by {}", divisor);
  const auto d = static_cast<uint64_t>(divisor);
  const int s = std::bit_width(d - 1);
  return static_cast<int64_t>(((uint64_t{1} << (31 + s)) + d - 1) / d | static_cast<uint64_t>(31 + s) << 32);
}

// n / divisor, i32, of n in [0, kMostDivided]. `inverse` is an i64 of inverse_of().
inline llvm::Value* divided(CudaEmitter& e, llvm::Value* n, llvm::Value* inverse) {
  llvm::Value* product = e.b.CreateMul(e.wide(n), e.wide(e.low32(inverse)));
  return e.low32(e.b.CreateLShr(product, e.b.CreateLShr(inverse, e.num(32))));
}

}  // namespace hone
