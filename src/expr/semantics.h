// What each operation computes, once: one function template per operation over the C++ type of its operands. Constant
// folding and the interpreter instantiate these through kernels.cc. Written without branches where that is possible, so
// that loops vectorise, and without undefined behaviour for any operand. The rules are those at the top of expr.h.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "expr/expr.h"

namespace hone::semantics {

using Boolean = uint8_t;  // 0 or 1

template <class T>
constexpr bool kIsBoolean = std::is_same_v<T, Boolean>;

template <class T>
constexpr Scalar scalar_of() {
  if constexpr (std::is_same_v<T, float>) return Scalar::f32;
  if constexpr (std::is_same_v<T, double>) return Scalar::f64;
  if constexpr (std::is_same_v<T, int32_t>) return Scalar::i32;
  if constexpr (std::is_same_v<T, uint32_t>) return Scalar::u32;
  if constexpr (std::is_same_v<T, int64_t>) return Scalar::i64;
  if constexpr (std::is_same_v<T, uint64_t>) return Scalar::u64;
  if constexpr (kIsBoolean<T>) return Scalar::boolean;
}

// The unsigned type of the same width.
template <class T>
using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint8_t>>;

template <class T>
Bits<T> bits_of(T x) {
  return std::bit_cast<Bits<T>>(x);
}

template <class T>
T from_bits(uint64_t bits) {
  return std::bit_cast<T>(static_cast<Bits<T>>(bits));
}

template <class T>
constexpr Bits<T> kSignBit = Bits<T>{1} << (8 * sizeof(T) - 1);

template <std::floating_point T>
T with_sign_of(T magnitude, T sign) {
  return from_bits<T>((bits_of(magnitude) & ~kSignBit<T>) | (bits_of(sign) & kSignBit<T>));
}

struct Neg {
  template <class T>
  static T apply(T x) {
    if constexpr (std::floating_point<T>) return from_bits<T>(bits_of(x) ^ kSignBit<T>);
    else return static_cast<T>(0 - static_cast<Bits<T>>(x));
  }
};

struct Abs {
  template <class T>
  static T apply(T x) {
    if constexpr (std::floating_point<T>) return from_bits<T>(bits_of(x) & ~kSignBit<T>);
    else if constexpr (std::signed_integral<T>) return x < 0 ? Neg::apply(x) : x;
    else return x;
  }
};

// Adding and subtracting 2^(digits-1) leaves no fraction bits and rounds ties to even; larger magnitudes have none to
// begin with.
struct Rint {
  template <std::floating_point T>
  static T apply(T x) {
    constexpr T kNoFraction = T{1} / std::numeric_limits<T>::epsilon();
    const T magnitude = Abs::apply(x);
    const T rounded = with_sign_of((magnitude + kNoFraction) - kNoFraction, x);
    return magnitude < kNoFraction ? rounded : x;
  }
};

struct Floor {
  template <std::floating_point T>
  static T apply(T x) {
    const T nearest = Rint::apply(x);
    return nearest - (nearest > x ? T{1} : T{0});
  }
};

struct Ceil {
  template <std::floating_point T>
  static T apply(T x) {
    const T nearest = Rint::apply(x);
    return with_sign_of(nearest + (nearest < x ? T{1} : T{0}), x);  // (-1, 0) goes to -0
  }
};

struct Trunc {
  template <std::floating_point T>
  static T apply(T x) {
    return with_sign_of(Floor::apply(Abs::apply(x)), x);
  }
};

struct Sqrt {
  template <std::floating_point T>
  static T apply(T x) {
    return std::sqrt(x);
  }
};

// Transcendental functions are computed in f64 and rounded once.
template <double (*f)(double)>
struct InDouble {
  template <std::floating_point T>
  static T apply(T x) {
    return static_cast<T>(f(static_cast<double>(x)));
  }
};
using Exp = InDouble<std::exp>;
using Log = InDouble<std::log>;
using Tanh = InDouble<std::tanh>;
using Erf = InDouble<std::erf>;
using Sin = InDouble<std::sin>;
using Cos = InDouble<std::cos>;

struct Pow {
  template <std::floating_point T>
  static T apply(T x, T y) {
    return static_cast<T>(std::pow(static_cast<double>(x), static_cast<double>(y)));
  }
};

struct BitNot {
  template <std::integral T>
  static T apply(T x) {
    if constexpr (kIsBoolean<T>) return x ^ 1;
    else return ~x;
  }
};

// Out of range saturates and NaN gives 0; the value that is converted is always in range.
template <std::integral To, std::floating_point From>
To saturated(From x) {
  constexpr From kLowest = static_cast<From>(std::numeric_limits<To>::min());  // 0 or -2^(n-1): exact
  constexpr To kHalf = std::numeric_limits<To>::max() / 2 + 1;                 // a power of two, so exact in From
  constexpr From kPastLargest = From{2} * static_cast<From>(kHalf);
  const From not_below = x >= kLowest ? x : kLowest;
  const From inside = not_below < kPastLargest ? not_below : From{0};
  const To truncated = static_cast<To>(inside);
  const To clamped = x >= kPastLargest ? std::numeric_limits<To>::max() : truncated;
  return x == x ? clamped : To{0};
}

template <class To>
struct Cast {
  template <class From>
  static To apply(From x) {
    if constexpr (kIsBoolean<To>) return x != 0;
    else if constexpr (std::floating_point<From> && std::integral<To>) return saturated<To>(x);
    else return static_cast<To>(x);
  }
};

template <class To>
struct Bitcast {
  template <class From>
  static To apply(From x) {
    return std::bit_cast<To>(x);
  }
};

struct Add {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::floating_point<T>) return a + b;
    else return static_cast<T>(static_cast<Bits<T>>(a) + static_cast<Bits<T>>(b));
  }
};

struct Sub {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::floating_point<T>) return a - b;
    else return static_cast<T>(static_cast<Bits<T>>(a) - static_cast<Bits<T>>(b));
  }
};

struct Mul {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::floating_point<T>) return a * b;
    else return static_cast<T>(static_cast<Bits<T>>(a) * static_cast<Bits<T>>(b));
  }
};

struct Div {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::integral<T>) {
      if (b == 0) return 0;
      if constexpr (std::signed_integral<T>) {
        if (b == -1) return Neg::apply(a);
      }
    }
    return a / b;
  }
};

struct Rem {
  template <std::integral T>
  static T apply(T a, T b) {
    if (b == 0) return a;
    if constexpr (std::signed_integral<T>) {
      if (b == -1) return 0;
    }
    return a % b;
  }
};

// Equal floats differ at most in the sign of zero: OR of the bits keeps the minus, AND the plus.
struct Min {
  template <class T>
  static T apply(T a, T b) {
    const T smaller = a < b ? a : b;
    if constexpr (std::floating_point<T>) {
      const T equal = from_bits<T>(bits_of(a) | bits_of(b)), nan = a + b;
      const T ordered = a == b ? equal : smaller;
      return static_cast<bool>((a != a) | (b != b)) ? nan : ordered;
    } else {
      return smaller;
    }
  }
};

struct Max {
  template <class T>
  static T apply(T a, T b) {
    const T larger = a > b ? a : b;
    if constexpr (std::floating_point<T>) {
      const T equal = from_bits<T>(bits_of(a) & bits_of(b)), nan = a + b;
      const T ordered = a == b ? equal : larger;
      return static_cast<bool>((a != a) | (b != b)) ? nan : ordered;
    } else {
      return larger;
    }
  }
};

struct Mulhi {
  template <std::integral T>
  static T apply(T a, T b) {
    using Signed = std::conditional_t<sizeof(T) == 4, int64_t, __int128>;
    using Unsigned = std::conditional_t<sizeof(T) == 4, uint64_t, unsigned __int128>;
    using Wide = std::conditional_t<std::is_signed_v<T>, Signed, Unsigned>;
    return static_cast<T>((Wide{a} * Wide{b}) >> (8 * sizeof(T)));
  }
};

struct BitAnd {
  template <std::integral T>
  static T apply(T a, T b) {
    return a & b;
  }
};

struct BitOr {
  template <std::integral T>
  static T apply(T a, T b) {
    return a | b;
  }
};

struct BitXor {
  template <std::integral T>
  static T apply(T a, T b) {
    return a ^ b;
  }
};

template <class T>
constexpr Bits<T> kCountMask = 8 * sizeof(T) - 1;

struct Shl {
  template <std::integral T>
  static T apply(T a, T count) {
    return static_cast<T>(static_cast<Bits<T>>(a) << (static_cast<Bits<T>>(count) & kCountMask<T>));
  }
};

struct Shr {
  template <std::integral T>
  static T apply(T a, T count) {
    return static_cast<T>(a >> (static_cast<Bits<T>>(count) & kCountMask<T>));
  }
};

struct Eq {
  template <class T>
  static Boolean apply(T a, T b) {
    return a == b;
  }
};

struct Ne {
  template <class T>
  static Boolean apply(T a, T b) {
    return a != b;
  }
};

struct Lt {
  template <class T>
  static Boolean apply(T a, T b) {
    return a < b;
  }
};

struct Le {
  template <class T>
  static Boolean apply(T a, T b) {
    return a <= b;
  }
};

struct Select {
  template <class T>
  static T apply(Boolean condition, T a, T b) {
    return condition != 0 ? a : b;
  }
};

struct Fma {
  template <std::floating_point T>
  static T apply(T a, T b, T c) {
    return std::fma(a, b, c);
  }
};

}  // namespace hone::semantics
