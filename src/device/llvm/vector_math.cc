#include "device/llvm/vector_math.h"

#include <llvm/IR/Intrinsics.h>

#include <cmath>
#include <numbers>

#include "base/error.h"
#include "device/llvm/fit.h"

namespace hone {
namespace {

namespace Intrinsic = llvm::Intrinsic;
using llvm::Value;

// Constants that take the shape of the vector beside them.
Value* constant_like(Value* shape, double value) { return llvm::ConstantFP::get(shape->getType(), value); }

// min and max with a constant that keep NaN: one instruction each.
Value* at_most(Emitter& e, Value* x, double bound) {
  Value* c = constant_like(x, bound);
  return e.b.CreateSelect(e.b.CreateFCmpOLT(c, x), c, x);
}
Value* at_least(Emitter& e, Value* x, double bound) {
  Value* c = constant_like(x, bound);
  return e.b.CreateSelect(e.b.CreateFCmpOGT(c, x), c, x);
}

// c[0] + c[1] t + … by Horner's rule.
Value* polynomial(Emitter& e, Value* t, const std::vector<double>& c) {
  Value* sum = constant_like(t, c.back());
  for (size_t k = c.size() - 1; k-- > 0;) sum = e.fma(sum, t, constant_like(t, c[k]));
  return sum;
}

// Adding 1.5 * 2^(23-k) rounds an f32 below 2^(22-k) to a multiple of 2^-k, and leaves the multiple in the low bits of
// the sum.
double rounding_constant(int k) { return std::ldexp(1.5, 23 - k); }

// An odd function that is 1 in f32 from `limit` on: sign(x) * min(u g(u), 1), where u = |x| (pieces - 1) / limit and
// g(u) = f / u is smooth. The piece of g around the integer nearest to u comes from register permutes, so that a low
// degree is enough for relative accuracy from the subnormals up. At the limit u is the last integer, and its g is such
// that the product is exactly 1.
struct Saturating {
  long double (*f)(long double);
  long double slope;  // f'(0)
  double limit;
  int pieces, degree;
};

Value* saturating(Emitter& e, Value* x, const Saturating& s) {
  const double last = s.pieces - 1, scale = last / s.limit;
  std::vector<std::vector<float>> table =
      fit_pieces([&](long double u) { return u == 0 ? s.slope / scale : s.f(u / scale) / u; }, s.pieces, s.degree);
  float& at_limit = table[0].back();
  at_limit = 1 / static_cast<float>(last);
  if (at_limit * static_cast<float>(last) < 1) at_limit = std::nextafter(at_limit, 1.0f);
  Value* magic = e.c_f32(rounding_constant(0));
  Value* u = at_most(e, e.b.CreateFMul(e.b.CreateUnaryIntrinsic(Intrinsic::fabs, x), e.c_f32(scale)), last);
  Value* sum = e.b.CreateFAdd(u, magic);
  Value* t = e.b.CreateFSub(u, e.b.CreateFSub(sum, magic));
  Value* piece = e.as(sum, e.v_i32);
  Value* g = e.lookup_f32(piece, table.back());
  for (size_t k = table.size() - 1; k-- > 0;) g = e.fma(g, t, e.lookup_f32(piece, table[k]));
  return e.b.CreateBinaryIntrinsic(Intrinsic::copysign, at_most(e, e.b.CreateFMul(g, u), 1), x);
}

// Pieces as many as the machine looks up in no time.
Saturating of_pieces(Emitter& e, const Saturating& many, const Saturating& few) {
  return e.cheap_table() >= many.pieces ? many : few;
}

// erf rounds to 1 from 3.93 on. With half-widths h = 0.063 and
// 0.28 the first term left out, h^(degree+1) / (2^degree (degree+1)!) times a derivative, is below 1e-8.
Value* erf_f32(Emitter& e, Value* x) {
  constexpr long double kSlope = 2 * std::numbers::inv_sqrtpi_v<long double>;
  const auto f = [](long double v) { return std::erf(v); };
  return saturating(e, x, of_pieces(e, {f, kSlope, 3.93, 32, 4}, {f, kSlope, 3.93, 8, 6}));
}

// tanh rounds to 1 from 9.02 on. Its poles at +-i pi/2 set the rate: half-widths of 0.146 and 0.644 give Chebyshev
// ellipses of 21 and 4.7, hence errors near 21^-6 and 4.7^-12.
Value* tanh_f32(Emitter& e, Value* x) {
  const auto f = [](long double v) { return std::tanh(v); };
  return saturating(e, x, of_pieces(e, {f, 1, 9.02, 32, 5}, {f, 1, 9.02, 8, 11}));
}

}  // namespace

// e^x = 2^n e^r, n = rint(x / ln 2), |r| <= ln 2 / 2. ln 2 is subtracted in two parts, the first with 15 bits, so that
// n * part is exact. e^r = 1 + r + r^2 q(r); degree 4 of q leaves 2e-9. Above 89 the result overflows, below -104 it is
// less than half of the smallest subnormal.
Value* vector_exp(Emitter& e, Value* x) {
  constexpr double kLn2High = 0x1.62e4p-1;
  const auto rest = [](long double r) {  // its series where the difference would cancel: the middle node is 0
    return std::abs(r) < 1e-6L ? 0.5L + r / 6 : (std::expm1(r) - r) / (r * r);
  };
  const std::vector<double> q = fit_polynomial(rest, -std::numbers::ln2 / 2, std::numbers::ln2 / 2, 0, 4);
  x = at_least(e, at_most(e, x, 89), -104);
  Value* magic = e.c_f32(rounding_constant(0));
  Value* n = e.b.CreateFSub(e.fma(x, e.c_f32(std::numbers::log2e), magic), magic);
  Value* r = e.fma(n, e.c_f32(kLn2High - std::numbers::ln2), e.fma(n, e.c_f32(-kLn2High), x));
  Value* tail = e.fma(polynomial(e, r, q), e.b.CreateFMul(r, r), r);
  return e.scale_by_power(e.b.CreateFAdd(tail, e.c_f32(1)), n);
}

// 2^n 2^r, n = rint(x), |r| <= 1/2. The polynomial's first coefficient is near 1, so that 2^0 is 1 within its error.
Value* vector_exp2_below_one(Emitter& e, Value* x, int degree) {
  const std::vector<double> p = fit_polynomial([](long double r) { return std::exp2(r); }, -0.5, 0.5, 0, degree);
  if (Value* r = e.fraction(x)) return e.scale_by_power(polynomial(e, r, p), e.b.CreateFSub(x, r));
  Value* const bounded = at_least(e, x, -160);
  Value* sum = e.b.CreateFAdd(bounded, e.c_f32(rounding_constant(0)));
  Value* n = e.b.CreateFSub(sum, e.c_f32(rounding_constant(0)));
  Value* power = polynomial(e, e.b.CreateFSub(bounded, n), p);
  // The low bits of the sum are n; added to the exponent they scale by a normal number.
  Value* scaled = e.b.CreateAdd(e.as(power, e.v_i32), e.b.CreateShl(e.as(sum, e.v_i32), e.c_i32(23)));
  Value* normal = e.b.CreateFCmpOGE(x, e.c_f32(-125));
  Value* rest = e.b.CreateSelect(e.b.CreateFCmpUNO(x, x), x, e.c_f32(0));
  return e.b.CreateSelect(normal, e.as(scaled, e.v_f32), rest);
}

namespace {

// x = m * 2^e with m in [sqrt 1/2, sqrt 2): subtracting the bits of sqrt 1/2 moves the carry of the exponent there.
struct Decomposed {
  Value *mantissa, *exponent;  // f32 both
};
Decomposed decompose(Emitter& e, Value* x) {
  Value* tiny = e.b.CreateFCmpOLT(x, e.c_f32(0x1p-126));
  x = e.b.CreateSelect(tiny, e.b.CreateFMul(x, e.c_f32(0x1p24)), x);
  const uint32_t root = 0x3f3504f3;  // sqrt 1/2
  Value* bits = e.as(x, e.v_i32);
  Value* exponent = e.b.CreateAShr(e.b.CreateSub(bits, e.c_i32(root)), e.c_i32(23));
  Value* mantissa = e.as(e.b.CreateSub(bits, e.b.CreateShl(exponent, e.c_i32(23))), e.v_f32);
  exponent = e.b.CreateSub(exponent, e.b.CreateSelect(tiny, e.c_i32(24), e.c_i32(0)));
  return {mantissa, e.b.CreateSIToFP(exponent, e.v_f32)};
}

// log x = e ln 2 + f - f^2/2 + f^3 q(f), f = m - 1. The singularity at f = -1 lies on an ellipse of 5.8: degree 8
// leaves 2e-8 f^2.
Value* log_f32(Emitter& e, Value* x) {
  constexpr double kLn2High = 0x1.62e4p-1;  // 15 bits: e * part is exact
  const std::vector<double> q =
      fit_polynomial([](long double f) { return (std::log1p(f) - f + f * f / 2) / (f * f * f); },
                     std::numbers::sqrt2 / 2 - 1, std::numbers::sqrt2 - 1, 0, 8);
  const Decomposed d = decompose(e, x);
  Value* f = e.b.CreateFSub(d.mantissa, e.c_f32(1));
  Value* square = e.b.CreateFMul(f, f);
  Value* small = e.fma(e.b.CreateFMul(polynomial(e, f, q), f), square,
                       e.b.CreateFMul(d.exponent, e.c_f32(std::numbers::ln2 - kLn2High)));
  small = e.fma(square, e.c_f32(-0.5), small);
  Value* result = e.fma(d.exponent, e.c_f32(kLn2High), e.b.CreateFAdd(f, small));
  const double infinity = HUGE_VAL;
  Value* zero = e.c_f32(0);
  result = e.b.CreateSelect(e.b.CreateFCmpOEQ(x, e.c_f32(infinity)), x, result);
  result = e.b.CreateSelect(e.b.CreateFCmpOEQ(x, zero), e.c_f32(-infinity), result);
  return e.b.CreateSelect(e.b.CreateFCmpUGE(x, zero), e.b.CreateSelect(e.b.CreateFCmpUNO(x, x), x, result),
                          e.c_f32(NAN));
}

// A local function void(ptr x, ptr y): x[i] = f(x[i], y[i]) for `lanes` elements through the C library's f64 function.
llvm::Function* library_loop(Emitter& e, ExprOp op, llvm::Type* element) {
  const std::string name = fmt::format("lanes_{}_{}", to_string(op), element == e.f64 ? "f64" : "f32");
  if (llvm::Function* made = e.module.getFunction(name)) return made;
  const llvm::IRBuilderBase::InsertPoint here = e.b.saveIP();
  const size_t arity = op == ExprOp::pow ? 2 : 1;
  const std::vector<llvm::Type*> doubles(arity, e.f64);
  llvm::FunctionCallee callee =
      e.module.getOrInsertFunction(std::string(to_string(op)), llvm::FunctionType::get(e.f64, doubles, false));
  llvm::Type* const params[] = {e.ptr, e.ptr};
  llvm::Function* function = e.begin_function(name, e.b.getVoidTy(), params, false);
  e.loop(e.num(0), e.num(e.lanes), 1, {}, [&](Value* i, const Values&) {
    std::vector<Value*> arguments;
    for (unsigned k = 0; k < arity; ++k)
      arguments.push_back(e.b.CreateFPExt(e.load(element, e.b.CreateGEP(element, function->getArg(k), i)), e.f64));
    Value* result = e.b.CreateFPTrunc(e.b.CreateCall(callee, arguments), element);
    e.store(result, e.b.CreateGEP(element, function->getArg(0), i));
    return Values{};
  });
  e.end_function();
  e.b.restoreIP(here);
  return function;
}

Value* through_library(Emitter& e, ExprOp op, Value* x, Value* y) {
  llvm::Type* type = x->getType();
  llvm::Type* element = type->getScalarType();
  Value* x_slot = e.stack(element, e.lanes);
  Value* y_slot = y ? e.stack(element, e.lanes) : x_slot;
  e.store(x, x_slot, 64);
  if (y) e.store(y, y_slot, 64);
  e.b.CreateCall(library_loop(e, op, element), {x_slot, y_slot});
  return e.load(type, x_slot, 64);
}

float toward_zero(long double value) {
  const auto nearest = static_cast<float>(value);
  return nearest > value ? std::nextafter(nearest, 0.0f) : nearest;
}

// r = x - n pi/2 with pi/2 in three parts: the first product is exact inside the fma, and for |x| < 2^15 (n < 2^15) the
// parts hold enough bits of pi for the f32 nearest to a multiple of pi/2. All parts are positive, so that -0 - n part =
// -0 for n = 0. Then sin or cos of r by the quadrant n mod 4. If a lane is beyond 2^15, the whole vector goes through
// the C library instead.
Value* sin_cos_f32(Emitter& e, ExprOp op, Value* x) {
  const long double half_pi = std::numbers::pi_v<long double> / 2;
  const float part1 = toward_zero(half_pi), part2 = toward_zero(half_pi - part1),
              part3 = toward_zero(half_pi - part1 - part2);
  Value* magic = e.c_f32(rounding_constant(0));
  Value* sum = e.fma(x, e.c_f32(2 / std::numbers::pi), magic);
  Value* n = e.b.CreateFSub(sum, magic);
  Value* r = e.fma(n, e.c_f32(-double{part3}), e.fma(n, e.c_f32(-double{part2}), e.fma(n, e.c_f32(-double{part1}), x)));
  Value* z = e.b.CreateFMul(r, r);
  // sin r = r (1 + z S(z)), cos r = 1 - z/2 + z^2 C(z), z = r^2 <= (pi/4)^2; degree 3 and 2 leave 3e-10 and 5e-9.
  const double z_max = std::numbers::pi * std::numbers::pi / 16;
  const std::vector<double> s =
      fit_polynomial([](long double v) { return (std::sin(std::sqrt(v)) / std::sqrt(v) - 1) / v; }, 0, z_max, 0, 3);
  const std::vector<double> c =
      fit_polynomial([](long double v) { return (std::cos(std::sqrt(v)) - 1 + v / 2) / (v * v); }, 0, z_max, 0, 2);
  Value* sine = e.b.CreateFMul(e.fma(polynomial(e, z, s), z, e.c_f32(1)), r);
  Value* cosine = e.fma(polynomial(e, z, c), e.b.CreateFMul(z, z), e.fma(z, e.c_f32(-0.5), e.c_f32(1)));
  Value* quadrant = e.as(sum, e.v_i32);
  if (op == ExprOp::cos) quadrant = e.b.CreateAdd(quadrant, e.c_i32(1));
  Value* odd = e.b.CreateICmpNE(e.b.CreateAnd(quadrant, e.c_i32(1)), e.c_i32(0));
  Value* sign = e.b.CreateShl(e.b.CreateAnd(quadrant, e.c_i32(2)), e.c_i32(30));
  Value* chosen = e.b.CreateSelect(odd, cosine, sine);
  Value* fast = e.as(e.b.CreateXor(e.as(chosen, e.v_i32), sign), e.v_f32);
  Value* beyond = e.b.CreateFCmpOGE(e.b.CreateUnaryIntrinsic(Intrinsic::fabs, x), e.c_f32(0x1p15));
  if (Value* far = e.far_sin_cos(op, x)) return e.b.CreateSelect(beyond, far, fast);
  Value* slot = e.stack(e.f32, e.lanes);
  e.store(fast, slot, 64);
  e.when(e.b.CreateOrReduce(beyond), [&] {
    e.store(x, slot, 64);
    e.b.CreateCall(library_loop(e, op, e.f32), {slot, slot});
  });
  return e.load(e.v_f32, slot, 64);
}

// log2 of positive finite f64 in the range of f32, to 2^-38 relative: with s = (m-1)/(m+1), |s| <= 0.1716,
// log m = 2s + s^3 w(s^2); degree 4 of w leaves 1e-12.
Value* log2_f64(Emitter& e, Value* x) {
  llvm::Type* v_i64 = x->getType()->getWithNewType(e.i64);
  auto c = [&](uint64_t v) { return llvm::ConstantInt::get(v_i64, v); };
  Value* bits = e.as(x, v_i64);
  const uint64_t root = 0x3fe6a09e667f3bcd;  // sqrt 1/2
  Value* exponent = e.b.CreateAShr(e.b.CreateSub(bits, c(root)), c(52));
  Value* m = e.as(e.b.CreateSub(bits, e.b.CreateShl(exponent, c(52))), x->getType());
  Value* s = e.b.CreateFDiv(e.b.CreateFSub(m, constant_like(m, 1)), e.b.CreateFAdd(m, constant_like(m, 1)));
  Value* square = e.b.CreateFMul(s, s);
  const std::vector<double> w = fit_polynomial(
      [](long double v) {
        const long double root_v = std::sqrt(v);
        return (2 * std::atanh(root_v) / root_v - 2) / v * std::numbers::log2e_v<long double>;
      },
      0, 0.0295, 0, 4);
  Value* log_m = e.fma(e.b.CreateFMul(polynomial(e, square, w), square), s,
                       e.b.CreateFMul(s, constant_like(s, 2 * std::numbers::log2e)));
  // The exponent fits 32 bits; the conversion from there is one instruction on every level.
  Value* whole = e.b.CreateSIToFP(e.b.CreateTrunc(exponent, x->getType()->getWithNewType(e.i32)), x->getType());
  return e.b.CreateFAdd(whole, log_m);
}

// 2^z in f64 for |z| <= 1000, to 2^-32 relative: n = rint(z), degree 7 over |r| <= 1/2.
Value* exp2_f64(Emitter& e, Value* z) {
  Value* magic = constant_like(z, 0x1.8p52);
  Value* sum = e.b.CreateFAdd(z, magic);
  Value* r = e.b.CreateFSub(z, e.b.CreateFSub(sum, magic));
  const std::vector<double> p = fit_polynomial([](long double v) { return std::exp2(v); }, -0.5, 0.5, 0, 7);
  llvm::Type* v_i64 = z->getType()->getWithNewType(e.i64);
  Value* shift = e.b.CreateShl(e.as(sum, v_i64), llvm::ConstantInt::get(v_i64, 52));  // n into the exponent field
  return e.as(e.b.CreateAdd(e.as(polynomial(e, r, p), v_i64), shift), z->getType());
}

// |x|^y = 2^(y log2 |x|) in f64, then the sign and the special cases of C99 F.9.4.4.
Value* pow_f32(Emitter& e, Value* x, Value* y) {
  llvm::Type* wide = e.vec(e.f64);
  auto c = [&](double v) { return llvm::ConstantFP::get(wide, v); };
  Value *x64 = e.b.CreateFPExt(x, wide), *y64 = e.b.CreateFPExt(y, wide);
  Value* magnitude = e.b.CreateUnaryIntrinsic(Intrinsic::fabs, x64);
  Value* log2 = log2_f64(e, magnitude);
  log2 = e.b.CreateSelect(e.b.CreateFCmpOEQ(magnitude, c(0)), c(-HUGE_VAL), log2);
  log2 = e.b.CreateSelect(e.b.CreateFCmpULT(magnitude, c(HUGE_VAL)), log2, magnitude);  // infinity and NaN stay
  log2 = e.b.CreateSelect(e.b.CreateFCmpUNO(magnitude, magnitude), magnitude, log2);
  Value* z = e.b.CreateFMul(y64, log2);
  Value* result = exp2_f64(e, at_least(e, at_most(e, z, 1000), -1000));
  result = e.b.CreateSelect(e.b.CreateFCmpUNO(z, z), z, result);
  auto integral = [&](Value* v) { return e.b.CreateFCmpOEQ(e.b.CreateUnaryIntrinsic(Intrinsic::roundeven, v), v); };
  Value* y_whole = integral(y64);
  Value* y_odd = e.b.CreateAnd(y_whole, e.b.CreateNot(integral(e.b.CreateFMul(y64, c(0.5)))));
  Value* signed_result = e.b.CreateBinaryIntrinsic(Intrinsic::copysign, result, x64);
  result = e.b.CreateSelect(y_odd, signed_result, result);
  Value* negative = e.b.CreateAnd(e.b.CreateFCmpOLT(x64, c(0)), e.b.CreateFCmpONE(magnitude, c(HUGE_VAL)));
  Value* y_finite_fraction = e.b.CreateAnd(e.b.CreateNot(y_whole), e.b.CreateFCmpORD(y64, y64));
  result = e.b.CreateSelect(e.b.CreateAnd(negative, y_finite_fraction), c(NAN), result);
  Value* unit = e.b.CreateAnd(e.b.CreateFCmpOEQ(magnitude, c(1)), integral(e.b.CreateFMul(y64, c(0.5))));
  unit = e.b.CreateOr(unit, e.b.CreateFCmpOEQ(x64, c(1)));
  unit = e.b.CreateOr(unit, e.b.CreateFCmpOEQ(y64, c(0)));
  return e.b.CreateFPTrunc(e.b.CreateSelect(unit, c(1), result), e.v_f32);
}

}  // namespace

llvm::Value* vector_function(Emitter& e, ExprOp op, llvm::Value* x, llvm::Value* y) {
  if (x->getType()->getScalarType() == e.f64) return through_library(e, op, x, y);
  switch (op) {
    case ExprOp::exp:
      return vector_exp(e, x);
    case ExprOp::log:
      return log_f32(e, x);
    case ExprOp::tanh:
      return tanh_f32(e, x);
    case ExprOp::erf:
      return erf_f32(e, x);
    case ExprOp::sin:
    case ExprOp::cos:
      return sin_cos_f32(e, op, x);
    case ExprOp::pow:
      return pow_f32(e, x, y);
    default:
      CHECK(false, "{} is not a function of vector_math", to_string(op));
  }
}

}  // namespace hone
