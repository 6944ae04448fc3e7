#include "expr/narrow.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "expr/node.h"

namespace hone {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kWhole = 0x1p24;  // f32 holds every whole number up to it

// What is known of an expression's values but that they may be NaN: float types only.
struct Range {
  double low = -kInfinity, high = kInfinity;
  bool is_whole = false;
  bool within(double bound) const { return -bound <= low && high <= bound; }
};

bool is_power_of_two(double x) {
  int exponent = 0;
  return std::isfinite(x) && std::abs(std::frexp(x, &exponent)) == 0.5;
}

bool is_f32(double x) { return double{static_cast<float>(x)} == x; }

// Types of integers that a cast saturates at.
Range range_of(Scalar type) {
  switch (type) {
    case Scalar::i32:
      return {-0x1p31, 0x1p31 - 1, true};
    case Scalar::u32:
      return {0, 0x1p32 - 1, true};
    case Scalar::boolean:
      return {0, 1, true};
    case Scalar::i64:
    case Scalar::u64:
      return {-0x1p64, 0x1p64, true};
    default:
      return {};
  }
}

// Of what is rounded to f32: past a bound that f32 does not hold, but not past the next whole number; or anywhere.
Range rounded(const Range& x) {
  if (!x.within(kWhole)) return {.is_whole = x.is_whole};
  return {std::floor(x.low), std::ceil(x.high), x.is_whole};
}

Range hull(const Range& a, const Range& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high), a.is_whole && b.is_whole};
}

class Narrowing {
 public:
  Expr visit(const Expr& e) {
    if (e.operands().empty()) return e;
    if (const auto known = done_.find(e.identity()); known != done_.end()) return known->second;
    std::vector<Expr> operands;
    for (const Expr& operand : e.operands()) operands.push_back(visit(operand));
    return done_.emplace(e.identity(), at(rebuild(e, std::move(operands)))).first->second;
  }

 private:
  // One step whose operands are narrow.
  Expr at(const Expr& e) {
    if (e.operands().empty()) return e;
    if (e.type() == Scalar::f64) return of_f64(e);
    const Expr& x = e.operands()[0];
    switch (e.op()) {
      case ExprOp::eq:
      case ExprOp::ne:
      case ExprOp::lt:
      case ExprOp::le:
        if (const auto f32 = all_as_f32(e); !f32.empty()) return build(e.op(), e.type(), f32);
        return e;
      case ExprOp::cast:
        return of_cast(e.type(), x, e);
      case ExprOp::rint:
        return e.type() == Scalar::f32 && range(x).is_whole ? x : e;
      case ExprOp::shr:
        return of_sign_extension(e);
      default:
        return e;
    }
  }

  Expr of_cast(Scalar type, const Expr& x, const Expr& e) {
    if (type == Scalar::f32 && x.type() == Scalar::f64) {
      // A product of two f32 is exact in f64. A sum is rounded twice, which 53 digits make as good as once to 24.
      const bool is_rounded_once = x.op() == ExprOp::mul || x.op() == ExprOp::add || x.op() == ExprOp::sub;
      if (is_rounded_once)
        if (const auto f32 = all_as_f32(x); !f32.empty()) return build(x.op(), Scalar::f32, f32);
      return e;
    }
    if (type == Scalar::f32 && (x.type() == Scalar::i32 || x.type() == Scalar::u32)) return of_whole_number(x, e);
    if (x.type() == Scalar::f64)
      if (const Expr f32 = as_f32(x)) return cast(type, f32);
    return e;
  }

  // To an integer and back: a whole number it is, but for NaN, which becomes 0, and -0.
  Expr of_whole_number(const Expr& integer, const Expr& e) {
    if (integer.op() != ExprOp::cast || integer.operands()[0].type() != Scalar::f32) return e;
    const Expr& x = integer.operands()[0];
    const Range r = range(x);
    if (!r.is_whole || !r.within(kWhole) || (integer.type() == Scalar::u32 && r.low < 0)) return e;
    return select(x == x, x + 0.0f, 0);
  }

  Expr of_f64(const Expr& e) {
    switch (e.op()) {
      case ExprOp::neg:
      case ExprOp::abs:
      case ExprOp::floor:
      case ExprOp::ceil:
      case ExprOp::trunc:
      case ExprOp::rint:
      case ExprOp::max:
      case ExprOp::select:
        break;
      case ExprOp::min:
        if (const Expr clamped = of_clamp(e)) return clamped;
        break;
      case ExprOp::add:
      case ExprOp::sub:
      case ExprOp::mul:
        return of_whole_sum(e);
      default:
        return e;
    }
    if (e.op() == ExprOp::rint && range(e.operands()[0]).is_whole) return e.operands()[0];
    const std::vector<Expr> f32 = all_as_f32(e);
    return f32.empty() ? e : cast(Scalar::f64, at(build(e.op(), Scalar::f32, f32)));
  }

  // Of whole numbers so small that f32 holds what comes out; times a power of two.
  Expr of_whole_sum(const Expr& e) {
    const Expr &a = e.operands()[0], &b = e.operands()[1];
    const Range x = range(a), y = range(b);
    const bool is_scaled = e.op() == ExprOp::mul && is_constant(b) && is_power_of_two(b.value()) &&
                           std::abs(std::ilogb(b.value())) <= 64 && x.is_whole && x.within(kWhole);
    const bool is_sum =
        e.op() != ExprOp::mul && x.is_whole && y.is_whole && x.within(kWhole / 2) && y.within(kWhole / 2);
    if (!is_scaled && !is_sum) return e;
    const std::vector<Expr> f32 = all_as_f32(e);
    return f32.empty() ? e : cast(Scalar::f64, build(e.op(), Scalar::f32, f32));
  }

  // min(max(t, low), high) with bounds far below what f32 holds:
  //   t = rint(x * 2^k)   where f32 has no such product it is beyond the bounds, or rounds to the same zero;
  //   t = x + z           of whole numbers, z small: where f32 rounds the sum, it is beyond them.
  Expr of_clamp(const Expr& e) {
    const Expr &lower = e.operands()[0], &high = e.operands()[1];
    if (lower.op() != ExprOp::max || !is_bound(high) || !is_bound(lower.operands()[1])) return {};
    const Expr& t = lower.operands()[0];
    Expr f32;
    if (t.op() == ExprOp::rint && t.operands()[0].op() == ExprOp::mul) {
      const Expr &x = t.operands()[0].operands()[0], &factor = t.operands()[0].operands()[1];
      const bool is_scaled =
          is_constant(factor) && is_power_of_two(factor.value()) && std::abs(std::ilogb(factor.value())) <= 100;
      if (const Expr narrow = is_scaled ? as_f32(x) : Expr())
        f32 = rint(narrow * Expr::number(Scalar::f32, factor.value()));
    } else if (t.op() == ExprOp::add) {
      const Expr &x = t.operands()[0], &z = t.operands()[1];
      const Expr narrow = as_f32(x), added = as_f32(z);
      if (narrow && added && range(x).is_whole && range(z).is_whole && range(z).within(0x1p16)) f32 = narrow + added;
    }
    if (!f32) return {};
    const auto bound = [](const Expr& b) { return Expr::number(Scalar::f32, b.value()); };
    return cast(Scalar::f64, min(max(f32, bound(lower.operands()[1])), bound(high)));
  }
  static bool is_bound(const Expr& e) { return is_constant(e) && std::abs(e.value()) <= 0x1p22 && is_f32(e.value()); }

  // (bits & mask) << k >> k of a number that the mask's bits hold.
  Expr of_sign_extension(const Expr& e) {
    const Expr &shifted = e.operands()[0], &k = e.operands()[1];
    if (e.type() != Scalar::i32 || shifted.op() != ExprOp::shl || !is_constant(k)) return e;
    const Expr &number = shifted.operands()[0], &count = shifted.operands()[1];
    if (!is_constant(count) || count.value() != k.value() || k.value() < 1 || k.value() > 30) return e;
    if (number.op() != ExprOp::bitcast || number.operands()[0].op() != ExprOp::bit_and) return e;
    const Expr &bits = number.operands()[0].operands()[0], &mask = number.operands()[0].operands()[1];
    if (bits.op() != ExprOp::bitcast || bits.operands()[0].type() != Scalar::i32 || !is_constant(mask)) return e;
    const double half = std::ldexp(1.0, 31 - static_cast<int>(k.value()));
    if (mask.value() != 2 * half - 1) return e;
    const Range r = range(bits.operands()[0]);
    return -half <= r.low && r.high < half ? bits.operands()[0] : e;
  }

  // The same values as f32; empty: it may have others.
  Expr as_f32(const Expr& e) {
    if (e.type() == Scalar::f32) return e;
    if (is_constant(e)) return is_f32(e.value()) ? Expr::number(Scalar::f32, e.value()) : Expr();
    if (e.op() != ExprOp::cast) return {};
    const Expr& x = e.operands()[0];
    if (x.type() == Scalar::f32) return x;
    const bool is_small = x.type() == Scalar::boolean || (is_integer(x.type()) && range(x).within(kWhole));
    return is_small ? at(cast(Scalar::f32, x)) : Expr();
  }
  // The operands of an op of f64; none: one is not f32.
  std::vector<Expr> all_as_f32(const Expr& e) {
    std::vector<Expr> operands;
    for (const Expr& x : e.operands()) {
      if (x.type() != Scalar::f64) {
        if (x.type() != Scalar::boolean || e.op() != ExprOp::select) return {};
        operands.push_back(x);
      } else if (const Expr f32 = as_f32(x)) {
        operands.push_back(f32);
      } else {
        return {};
      }
    }
    return operands;
  }

  Range range(const Expr& e) {
    if (const auto known = ranges_.find(e.identity()); known != ranges_.end()) return known->second.second;
    return ranges_.emplace(e.identity(), std::pair(e, find_range(e))).first->second.second;
  }
  Range find_range(const Expr& e) {
    if (is_constant(e)) {
      const double x = e.value();
      if (std::isnan(x)) return {};
      return {x, x, std::trunc(x) == x && std::isfinite(x)};
    }
    if (e.operands().empty()) return range_of(e.type());
    const Range x = range(e.operands()[0]);
    const auto y = [&] { return range(e.operands()[1]); };
    switch (e.op()) {
      case ExprOp::rint:
      case ExprOp::floor:
      case ExprOp::ceil:
      case ExprOp::trunc:
        return {std::floor(x.low), std::ceil(x.high), true};
      case ExprOp::min: {
        const Range other = y();
        return {std::min(x.low, other.low), std::min(x.high, other.high), x.is_whole && other.is_whole};
      }
      case ExprOp::max: {
        const Range other = y();
        return {std::max(x.low, other.low), std::max(x.high, other.high), x.is_whole && other.is_whole};
      }
      case ExprOp::neg:
        if (is_float(e.type())) return {-x.high, -x.low, x.is_whole};
        return range_of(e.type());
      case ExprOp::select:
        return hull(range(e.operands()[1]), range(e.operands()[2]));
      case ExprOp::bit_and: {
        const Expr& mask = e.operands()[1];
        if (e.type() == Scalar::u32 && is_constant(mask)) return {0, mask.value(), true};
        return range_of(e.type());
      }
      case ExprOp::cast:
        return range_of_cast(e, x);
      case ExprOp::add:
      case ExprOp::sub: {
        // Large sums of f32 are rounded, to whole numbers; integers may wrap.
        if (!is_float(e.type())) return range_of(e.type());
        const Range other = y();
        Range sum = e.op() == ExprOp::add ? Range{x.low + other.low, x.high + other.high}
                                          : Range{x.low - other.high, x.high - other.low};
        if (std::isnan(sum.low) || std::isnan(sum.high)) sum = {};
        sum.is_whole = x.is_whole && other.is_whole;
        return rounded(sum);
      }
      default:
        return range_of(e.type());
    }
  }

  static Range range_of_cast(const Expr& e, Range x) {
    const Scalar from = e.operands()[0].type();
    if (is_float(e.type())) return rounded(x);
    const Range all = range_of(e.type());
    if (!is_float(from)) return all.low <= x.low && x.high <= all.high ? x : all;
    // NaN becomes 0.
    return {std::clamp(std::min(std::trunc(x.low), 0.0), all.low, all.high),
            std::clamp(std::max(std::trunc(x.high), 0.0), all.low, all.high), true};
  }

  std::unordered_map<const void*, Expr> done_;
  std::unordered_map<const void*, std::pair<Expr, Range>> ranges_;  // with what has the address
};

}  // namespace

Program narrowed(const Program& program) {
  std::vector<Expr> exprs;
  const auto at = [&](int32_t i) { return exprs[static_cast<size_t>(i)]; };
  for (const Instruction& i : program.code) {
    if (i.op == ExprOp::constant) {
      exprs.push_back(Expr::constant(i.type, static_cast<uint64_t>(i.payload)));
    } else if (i.op == ExprOp::arg) {
      exprs.push_back(Expr::arg(static_cast<int>(i.payload), i.type));
    } else if (i.op == ExprOp::index) {
      exprs.push_back(Expr::index());
    } else {
      std::vector<Expr> operands;
      for (int32_t operand : {i.a, i.b, i.c})
        if (operand >= 0) operands.push_back(at(operand));
      exprs.push_back(
          build(i.op, i.type, std::move(operands),
                i.op == ExprOp::lookup ? program.tables[static_cast<size_t>(i.payload)] : std::vector<uint64_t>()));
    }
  }
  Narrowing narrowing;
  std::vector<Expr> results;
  for (int32_t r : program.results) results.push_back(narrowing.visit(at(r)));
  Program narrow = flatten(results);
  narrow.args = program.args;
  return narrow;
}

}  // namespace hone
