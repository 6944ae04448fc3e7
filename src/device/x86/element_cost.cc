#include "device/x86/element_cost.h"

#include <algorithm>

namespace hone {
namespace {

// Vector instructions that an operation becomes, by the polynomials of vector_math.cc.
double instructions(const Instruction& i) {
  const bool wide = width_bits(i.type) > 32;
  switch (i.op) {
    case ExprOp::constant:
    case ExprOp::arg:
      return 0;
    case ExprOp::exp:
    case ExprOp::erf:
    case ExprOp::tanh:
      return wide ? 400 : 16;
    case ExprOp::log:
      return wide ? 400 : 24;
    case ExprOp::sin:
    case ExprOp::cos:
      return wide ? 400 : 30;
    case ExprOp::pow:
      return wide ? 800 : 90;
    case ExprOp::div:
    case ExprOp::sqrt:
      return is_integer(i.type) ? 200 : 10;
    case ExprOp::rem:
      return 200;
    case ExprOp::min:
    case ExprOp::max:
      return 3;
    default:
      return wide ? 3 : 1;
  }
}

}  // namespace

double element_ns(const Program& program, int streams, const X86Target& target) {
  double count = 2 + streams;
  for (const Instruction& i : program.code) count += instructions(i);
  const double lanes = target.lanes();
  // Two instructions a cycle at 3 GHz; each stream of f32 moves at 20 GB/s or better.
  return std::max(count / lanes / 6, streams * 0.1);
}

}  // namespace hone
