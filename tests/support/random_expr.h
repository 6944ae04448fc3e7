// Random programs of the expression language: every operation on every type, as instructions that nobody has
// simplified. Readers of the language are held to each other on them. No value depends on the bits of a NaN, which are
// not specified.
#pragma once

#include <vector>

#include "base/philox.h"
#include "expr/program.h"
#include "tests/support/scalar_values.h"

namespace hone::test {

struct RandomProgramOptions {
  std::vector<Scalar> args;    // types of the inputs
  int steps = 24;              // operations, roughly
  bool transcendental = true;  // exp log tanh erf sin cos pow too
};

class RandomProgram {
 public:
  RandomProgram(Philox& rng, const RandomProgramOptions& options) : rng_(rng), options_(options) {}

  // The results are the last three values computed.
  Program make() {
    program_.args = options_.args;
    for (size_t i = 0; i < options_.args.size(); ++i)
      emit({.op = ExprOp::arg, .type = options_.args[i], .payload = static_cast<int64_t>(i)});
    emit({.op = ExprOp::index, .type = Scalar::i64});
    for (int i = 0; i < options_.steps; ++i) step();
    const auto last = static_cast<int32_t>(program_.code.size()) - 1;
    for (int32_t r = last; r >= 0 && r > last - 3; --r) program_.results.push_back(r);
    return program_;
  }

 private:
  int32_t emit(const Instruction& in) {
    program_.code.push_back(in);
    return static_cast<int32_t>(program_.code.size()) - 1;
  }
  template <size_t n>
  ExprOp any_of(const ExprOp (&ops)[n]) {
    return ops[rng_.below(n)];
  }
  Scalar any_type() { return kScalars[rng_.below(7)]; }

  // One value in six is a new constant; else one computed before.
  int32_t value(Scalar type) {
    std::vector<int32_t> candidates;
    for (size_t i = 0; i < program_.code.size(); ++i)
      if (program_.code[i].type == type) candidates.push_back(static_cast<int32_t>(i));
    if (candidates.empty() || rng_.below(6) == 0)
      return emit({.op = ExprOp::constant, .type = type, .payload = static_cast<int64_t>(random_value(type, rng_))});
    return candidates[rng_.below(static_cast<uint32_t>(candidates.size()))];
  }

  void step() {
    switch (rng_.below(12)) {
      case 0:
        return emit_cast();
      case 1:
        return emit_bitcast();
      case 2:
        return emit_select();
      case 3:
        return emit_comparison();
      case 4:
        return rng_.below(3) == 0 ? emit_lookup() : emit_comparison();
      default:
        return emit_arithmetic();
    }
  }

  void emit_cast() {
    const Scalar to = any_type();
    const int32_t a = value(any_type());
    emit({.op = ExprOp::cast, .type = to, .a = a});
  }

  void emit_bitcast() {
    constexpr Scalar k32[] = {Scalar::f32, Scalar::i32, Scalar::u32}, k64[] = {Scalar::f64, Scalar::i64, Scalar::u64};
    const Scalar* same_width = rng_.below(2) ? k32 : k64;
    const Scalar to = same_width[rng_.below(3)], from = same_width[rng_.below(3)];
    int32_t a = value(from);
    if (is_float(from)) {  // a NaN becomes 0
      const int32_t ordered = emit({.op = ExprOp::eq, .type = Scalar::boolean, .a = a, .b = a});
      const int32_t zero = emit({.op = ExprOp::constant, .type = from});
      a = emit({.op = ExprOp::select, .type = from, .a = ordered, .b = a, .c = zero});
    }
    emit({.op = ExprOp::bitcast, .type = to, .a = a});
  }

  void emit_select() {
    const Scalar type = any_type();
    const int32_t a = value(Scalar::boolean), b = value(type), c = value(type);
    emit({.op = ExprOp::select, .type = type, .a = a, .b = b, .c = c});
  }

  void emit_comparison() {
    const Scalar type = any_type();
    const uint32_t kinds = type == Scalar::boolean ? 2 : 4;
    const ExprOp op = (const ExprOp[]){ExprOp::eq, ExprOp::ne, ExprOp::lt, ExprOp::le}[rng_.below(kinds)];
    const int32_t a = value(type), b = value(type);
    emit({.op = op, .type = Scalar::boolean, .a = a, .b = b});
  }

  void emit_lookup() {
    const Scalar type = any_type();
    std::vector<uint64_t> table(1 + rng_.below(20));
    for (uint64_t& entry : table) entry = random_value(type, rng_);
    program_.tables.push_back(table);
    const int64_t number = static_cast<int64_t>(program_.tables.size()) - 1;
    const int32_t a = value(Scalar::u32);
    emit({.op = ExprOp::lookup, .type = type, .a = a, .payload = number});
  }

  void emit_arithmetic() {
    using enum ExprOp;
    const Scalar type = any_type();
    ExprOp op;
    if (type == Scalar::boolean) op = any_of({bit_not, bit_and, bit_or, bit_xor});
    else if (is_integer(type))
      op = any_of({neg, abs, bit_not, add, sub, mul, div, rem, min, max, mulhi, bit_and, bit_or, bit_xor, shl, shr});
    else if (options_.transcendental && rng_.below(4) == 0) op = any_of({exp, log, tanh, erf, sin, cos, pow});
    else op = any_of({neg, abs, floor, ceil, trunc, rint, sqrt, add, add, sub, mul, mul, div, min, max, fma});
    Instruction in{.op = op, .type = type};
    in.a = value(type);
    if (op >= add) in.b = value(type);
    if (op == fma) in.c = value(type);
    emit(in);
  }

  Philox& rng_;
  RandomProgramOptions options_;
  Program program_;
};

inline Program random_program(Philox& rng, const RandomProgramOptions& options) {
  return RandomProgram(rng, options).make();
}

// The same computation through the operators of expr.h, which fold and simplify.
inline std::vector<Expr> to_exprs(const Program& program) {
  std::vector<Expr> values;
  for (const Instruction& in : program.code) {
    const auto operand = [&](int32_t i) { return i < 0 ? Expr() : values[static_cast<size_t>(i)]; };
    const Expr a = operand(in.a), b = operand(in.b), c = operand(in.c);
    const auto build = [&]() -> Expr {
      switch (in.op) {
        case ExprOp::constant:
          return Expr::constant(in.type, static_cast<uint64_t>(in.payload));
        case ExprOp::arg:
          return Expr::arg(static_cast<int>(in.payload), in.type);
        case ExprOp::index:
          return Expr::index();
        case ExprOp::neg:
          return -a;
        case ExprOp::abs:
          return abs(a);
        case ExprOp::floor:
          return floor(a);
        case ExprOp::ceil:
          return ceil(a);
        case ExprOp::trunc:
          return trunc(a);
        case ExprOp::rint:
          return rint(a);
        case ExprOp::sqrt:
          return sqrt(a);
        case ExprOp::exp:
          return exp(a);
        case ExprOp::log:
          return log(a);
        case ExprOp::tanh:
          return tanh(a);
        case ExprOp::erf:
          return erf(a);
        case ExprOp::sin:
          return sin(a);
        case ExprOp::cos:
          return cos(a);
        case ExprOp::bit_not:
          return ~a;
        case ExprOp::cast:
          return cast(in.type, a);
        case ExprOp::bitcast:
          return bitcast(in.type, a);
        case ExprOp::lookup: {
          std::vector<Expr> entries;
          for (uint64_t entry : program.tables[static_cast<size_t>(in.payload)])
            entries.push_back(Expr::constant(in.type, entry));
          return lookup(entries, a);
        }
        case ExprOp::add:
          return a + b;
        case ExprOp::sub:
          return a - b;
        case ExprOp::mul:
          return a * b;
        case ExprOp::div:
          return a / b;
        case ExprOp::rem:
          return a % b;
        case ExprOp::min:
          return min(a, b);
        case ExprOp::max:
          return max(a, b);
        case ExprOp::pow:
          return pow(a, b);
        case ExprOp::mulhi:
          return mulhi(a, b);
        case ExprOp::bit_and:
          return a & b;
        case ExprOp::bit_or:
          return a | b;
        case ExprOp::bit_xor:
          return a ^ b;
        case ExprOp::shl:
          return a << b;
        case ExprOp::shr:
          return a >> b;
        case ExprOp::eq:
          return a == b;
        case ExprOp::ne:
          return a != b;
        case ExprOp::lt:
          return a < b;
        case ExprOp::le:
          return a <= b;
        case ExprOp::select:
          return select(a, b, c);
        case ExprOp::fma:
          return fma(a, b, c);
      }
      return {};
    };
    values.push_back(build());
  }
  std::vector<Expr> results;
  for (int32_t r : program.results) results.push_back(values[static_cast<size_t>(r)]);
  return results;
}

}  // namespace hone::test
