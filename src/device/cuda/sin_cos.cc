// sin and cos of f32 too large for three parts of pi: Payne and Hanek's reduction, "Radian reduction for trigonometric
// functions" (1983). Of 2/pi, only the bits count whose multiples of the argument are not whole turns: 128 of them,
// which the argument's 24 bits are multiplied into, leave more than 70 of the fraction of a quadrant, however close it
// is to 0.
#include <llvm/IR/Intrinsics.h>

#include <array>
#include <cmath>
#include <numbers>

#include "device/cuda/emitter.h"
#include "device/llvm/fit.h"

namespace hone {
namespace {

using llvm::Value;

constexpr int kLeast = -8;  // x = m 2^e with m of 24 bits: |x| >= 2^15
constexpr int kMost = 104;
// The bits of 2/pi behind ten zeros, so that those from place e + 8 on begin at what is twice a quadrant of x.
constexpr std::array<uint64_t, 4> bits_of_two_over_pi() {
  constexpr std::array<uint64_t, 4> kBits{0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
                                          0xfe5163abdebbc561};
  std::array<uint64_t, 4> moved{};
  for (size_t i = 0; i < 4; ++i) moved[i] = kBits[i] >> 10 | (i ? kBits[i - 1] << 54 : 0);
  return moved;
}

Value* f64(CudaEmitter& e, double value) { return llvm::ConstantFP::get(e.f64, value); }

Value* polynomial(CudaEmitter& e, Value* z, const std::vector<double>& c) {
  Value* sum = f64(e, c.back());
  for (size_t k = c.size() - 1; k-- > 0;) sum = e.fma(sum, z, f64(e, c[k]));
  return sum;
}

// |x| as quadrants and a rest in [-1/2, 1/2) of one, in radians.
struct Reduced {
  Value *quadrants, *rest;  // i32, f64
};
Reduced reduce(CudaEmitter& e, Value* bits) {
  auto& b = e.b;
  llvm::Type* i128 = b.getIntNTy(128);
  Value* exponent = b.CreateSub(b.CreateAnd(b.CreateLShr(bits, e.n32(23)), e.n32(255)), e.n32(150 + kLeast));
  Value* place = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, exponent, e.n32(0));
  place = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, place, e.n32(kMost - kLeast));
  const auto words = bits_of_two_over_pi();
  llvm::GlobalVariable* table = e.table(llvm::ConstantDataArray::get(e.context, llvm::ArrayRef<uint64_t>(words)));
  Value* first = b.CreateGEP(e.i64, table, e.wide(b.CreateLShr(place, e.n32(6))));
  Value* shift = e.wide(b.CreateAnd(place, e.n32(63)));
  Values word;
  for (int i = 0; i < 3; ++i) word.push_back(e.load_constant(e.i64, e.at(first, int64_t{8} * i), 8));
  const auto window = [&](size_t i) {
    return b.CreateZExt(b.CreateIntrinsic(llvm::Intrinsic::fshl, {e.i64}, {word[i], word[i + 1], shift}), i128);
  };
  const auto wide_shift = [&](int by) { return llvm::ConstantInt::get(i128, static_cast<uint64_t>(by)); };
  Value* mantissa = b.CreateOr(b.CreateAnd(bits, e.n32(0x7fffff)), e.n32(0x800000));
  Value* product = b.CreateMul(b.CreateOr(b.CreateShl(window(0), wide_shift(64)), window(1)),
                               b.CreateZExt(mantissa, i128));  // quadrants in the highest two bits
  Value* half = b.CreateShl(llvm::ConstantInt::get(i128, 1), wide_shift(125));
  Value* quadrants = b.CreateLShr(b.CreateAdd(product, half), wide_shift(126));
  Value* rest = b.CreateSub(product, b.CreateShl(quadrants, wide_shift(126)));
  Value* high = b.CreateSIToFP(b.CreateTrunc(b.CreateLShr(rest, wide_shift(64)), e.i64), e.f64);
  Value* low = b.CreateUIToFP(b.CreateTrunc(rest, e.i64), e.f64);
  Value* turned = e.fma(low, f64(e, 0x1p-64), high);  // times 2^62
  return {b.CreateTrunc(quadrants, e.i32), b.CreateFMul(turned, f64(e, std::numbers::pi / 2 * 0x1p-62))};
}

Value* far_one(CudaEmitter& e, ExprOp op, Value* x) {
  auto& b = e.b;
  Value* bits = e.as(x, e.i32);
  const Reduced reduced = reduce(e, bits);
  Value* z = b.CreateFMul(reduced.rest, reduced.rest);
  // sin r = r (1 + z S(z)), cos r = 1 + z C(z) for z <= (pi/4)^2: degrees 6 leave 1e-17.
  const double z_max = std::numbers::pi * std::numbers::pi / 16;
  const std::vector<double> s =
      fit_polynomial([](long double v) { return (std::sin(std::sqrt(v)) / std::sqrt(v) - 1) / v; }, 0, z_max, 0, 6);
  const std::vector<double> c =
      fit_polynomial([](long double v) { return (std::cos(std::sqrt(v)) - 1) / v; }, 0, z_max, 0, 6);
  Value* sine = e.fma(b.CreateFMul(polynomial(e, z, s), z), reduced.rest, reduced.rest);
  Value* cosine = e.fma(polynomial(e, z, c), z, f64(e, 1));
  Value* quadrant = op == ExprOp::cos ? b.CreateAdd(reduced.quadrants, e.n32(1)) : reduced.quadrants;
  const auto has_bit = [&](uint32_t bit) { return b.CreateICmpNE(b.CreateAnd(quadrant, e.n32(bit)), e.n32(0)); };
  Value* chosen = b.CreateFPTrunc(b.CreateSelect(has_bit(1), cosine, sine), e.f32);
  Value* negative = has_bit(2);
  if (op == ExprOp::sin) negative = b.CreateXor(negative, b.CreateICmpSLT(bits, e.n32(0)));
  Value* result = b.CreateSelect(negative, b.CreateFNeg(chosen), chosen);
  Value* is_finite =
      b.CreateFCmpOLT(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x), llvm::ConstantFP::getInfinity(e.f32));
  return b.CreateSelect(is_finite, result, llvm::ConstantFP::getNaN(e.f32));
}

}  // namespace

Value* CudaEmitter::far_sin_cos(ExprOp op, Value* x) {
  Value* magnitude = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  Value* is_far = b.CreateOrReduce(b.CreateFCmpOGE(magnitude, c_f32(0x1p15)));
  return choose(
      is_far, [&] { return Values{each(x, [&](Value* one) { return far_one(*this, op, one); })}; },
      [&] { return Values{x}; })[0];
}

}  // namespace hone
