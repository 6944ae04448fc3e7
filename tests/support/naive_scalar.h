// The page of semantics in expr.h a second time, written apart from src/expr: one value at a time, integers in 128
// bits, library functions for rounding and powers. Slow and obvious.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/error.h"
#include "expr/program.h"
#include "tests/support/scalar_values.h"

namespace hone::test {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

inline Wide whole(Scalar type, uint64_t bits) {
  if (type == Scalar::i32) return static_cast<int32_t>(static_cast<uint32_t>(bits));
  if (type == Scalar::i64) return static_cast<int64_t>(bits);
  return bits;
}

inline uint64_t wrapped(Scalar type, UnsignedWide value) {
  return static_cast<uint64_t>(value) & ~uint64_t{0} >> (64 - width_bits(type));
}
inline uint64_t wrapped(Scalar type, Wide value) { return wrapped(type, static_cast<UnsignedWide>(value)); }

inline double real(Scalar type, uint64_t bits) { return type == Scalar::f32 ? double{as_f32(bits)} : as_f64(bits); }

inline uint64_t naive_integer(ExprOp op, Scalar type, uint64_t x, uint64_t y) {
  const Wide a = whole(type, x), b = whole(type, y);
  const int width = width_bits(type), count = static_cast<int>(y % static_cast<uint64_t>(width));
  switch (op) {
    case ExprOp::neg:
      return wrapped(type, -a);
    case ExprOp::abs:
      return wrapped(type, a < 0 ? -a : a);
    case ExprOp::bit_not:
      return wrapped(type, ~a);
    case ExprOp::add:
      return wrapped(type, a + b);
    case ExprOp::sub:
      return wrapped(type, a - b);
    case ExprOp::mul:
      return wrapped(type, static_cast<UnsignedWide>(a) * static_cast<UnsignedWide>(b));
    case ExprOp::div:
      return b == 0 ? 0 : wrapped(type, a / b);
    case ExprOp::rem:
      return b == 0 ? x : wrapped(type, a % b);
    case ExprOp::min:
      return a < b ? x : y;
    case ExprOp::max:
      return a > b ? x : y;
    case ExprOp::mulhi:
      if (is_signed(type)) return wrapped(type, (a * b) >> width);
      return wrapped(type, (static_cast<UnsignedWide>(a) * static_cast<UnsignedWide>(b)) >> width);
    case ExprOp::bit_and:
      return x & y;
    case ExprOp::bit_or:
      return x | y;
    case ExprOp::bit_xor:
      return x ^ y;
    case ExprOp::shl:
      return wrapped(type, static_cast<UnsignedWide>(x) << count);
    case ExprOp::shr:
      return wrapped(type, a >> count);
    default:
      CHECK(false, "{}", to_string(op));
  }
}

template <class T>
T naive_extreme(T a, T b, bool larger) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  if (a == b) return std::signbit(a) == larger ? b : a;
  return (a < b) == larger ? b : a;
}

template <class T>
T naive_float(ExprOp op, T a, T b, T c) {
  const double x = a, y = b;
  switch (op) {
    case ExprOp::neg:
      return -a;
    case ExprOp::abs:
      return std::fabs(a);
    case ExprOp::floor:
      return std::floor(a);
    case ExprOp::ceil:
      return std::ceil(a);
    case ExprOp::trunc:
      return std::trunc(a);
    case ExprOp::rint:
      return std::nearbyint(a);
    case ExprOp::sqrt:
      return std::sqrt(a);
    case ExprOp::exp:
      return static_cast<T>(std::exp(x));
    case ExprOp::log:
      return static_cast<T>(std::log(x));
    case ExprOp::tanh:
      return static_cast<T>(std::tanh(x));
    case ExprOp::erf:
      return static_cast<T>(std::erf(x));
    case ExprOp::sin:
      return static_cast<T>(std::sin(x));
    case ExprOp::cos:
      return static_cast<T>(std::cos(x));
    case ExprOp::add:
      return a + b;
    case ExprOp::sub:
      return a - b;
    case ExprOp::mul:
      return a * b;
    case ExprOp::div:
      return a / b;
    case ExprOp::min:
      return naive_extreme(a, b, false);
    case ExprOp::max:
      return naive_extreme(a, b, true);
    case ExprOp::pow:
      return static_cast<T>(std::pow(x, y));
    case ExprOp::fma:
      return std::fma(a, b, c);
    default:
      CHECK(false, "{}", to_string(op));
  }
}

inline uint64_t naive_saturated(Scalar to, double x) {
  const double past_largest = std::ldexp(1.0, width_bits(to) - (is_signed(to) ? 1 : 0));
  const double lowest = is_signed(to) ? -past_largest : 0;
  if (std::isnan(x)) return 0;
  if (x >= past_largest) return wrapped(to, static_cast<UnsignedWide>(past_largest) - 1);
  if (x <= lowest) return wrapped(to, static_cast<Wide>(lowest));
  return wrapped(to, static_cast<Wide>(x));
}

inline uint64_t naive_cast(Scalar to, Scalar from, uint64_t x) {
  if (to == Scalar::boolean) return is_float(from) ? real(from, x) != 0 : x != 0;
  if (is_integer(to)) return is_float(from) ? naive_saturated(to, real(from, x)) : wrapped(to, whole(from, x));
  if (to == Scalar::f32)
    return bits(is_float(from) ? static_cast<float>(real(from, x)) : static_cast<float>(whole(from, x)));
  return bits(is_float(from) ? real(from, x) : static_cast<double>(whole(from, x)));
}

inline bool naive_compare(ExprOp op, Scalar type, uint64_t x, uint64_t y) {
  const auto compare = [op](auto a, auto b) {
    return op == ExprOp::eq ? a == b : op == ExprOp::ne ? a != b : op == ExprOp::lt ? a < b : a <= b;
  };
  return is_float(type) ? compare(real(type, x), real(type, y)) : compare(whole(type, x), whole(type, y));
}

// `operand` is the type of the first operand.
inline uint64_t naive_operation(ExprOp op, Scalar type, Scalar operand, uint64_t a, uint64_t b, uint64_t c,
                                const std::vector<uint64_t>& table) {
  switch (op) {
    case ExprOp::select:
      return a ? b : c;
    case ExprOp::bitcast:
      return a;
    case ExprOp::cast:
      return naive_cast(type, operand, a);
    case ExprOp::lookup: {
      uint64_t size = 1;
      while (size < table.size()) size *= 2;
      return a % size < table.size() ? table[a % size] : 0;
    }
    case ExprOp::eq:
    case ExprOp::ne:
    case ExprOp::lt:
    case ExprOp::le:
      return naive_compare(op, operand, a, b);
    default:
      break;
  }
  if (type == Scalar::f32) return bits(naive_float(op, as_f32(a), as_f32(b), as_f32(c)));
  if (type == Scalar::f64) return bits(naive_float(op, as_f64(a), as_f64(b), as_f64(c)));
  return naive_integer(op, type, a, b);
}

// The value of every instruction.
inline std::vector<uint64_t> naive_values(const Program& program, const std::vector<uint64_t>& args, int64_t index) {
  std::vector<uint64_t> values;
  for (const Instruction& in : program.code) {
    const auto value = [&](int32_t i) { return i < 0 ? 0 : values[static_cast<size_t>(i)]; };
    if (in.op == ExprOp::constant) values.push_back(static_cast<uint64_t>(in.payload));
    else if (in.op == ExprOp::arg) values.push_back(args[static_cast<size_t>(in.payload)]);
    else if (in.op == ExprOp::index) values.push_back(static_cast<uint64_t>(index));
    else
      values.push_back(naive_operation(
          in.op, in.type, program.code[static_cast<size_t>(in.a)].type, value(in.a), value(in.b), value(in.c),
          in.op == ExprOp::lookup ? program.tables[static_cast<size_t>(in.payload)] : std::vector<uint64_t>{}));
  }
  return values;
}

inline std::vector<uint64_t> naive_results(const Program& program, const std::vector<uint64_t>& args,
                                           int64_t index = 0) {
  const std::vector<uint64_t> values = naive_values(program, args, index);
  std::vector<uint64_t> results;
  for (int32_t r : program.results) results.push_back(values[static_cast<size_t>(r)]);
  return results;
}

}  // namespace hone::test
