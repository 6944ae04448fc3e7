// Pointwise kernels: every dtype, odd sizes, strides and broadcasts; nothing outside the result is written.
#include <gtest/gtest.h>

#include "base/float_bits.h"
#include "kernels/pointwise/plan.h"
#include "tests/device/x86/kernel_runner.h"
#include "tests/support/scalar_values.h"

namespace hone {
namespace {

using namespace test;
using Inner = PointwisePlan::Inner;

constexpr int64_t kSizes[] = {1, 7, 8, 15, 16, 17, 31, 33, 1000};
constexpr DType kDTypes[] = {DType::boolean, DType::i8,  DType::i16, DType::i32,  DType::i64, DType::u8, DType::u16,
                             DType::u32,     DType::u64, DType::f16, DType::bf16, DType::f32, DType::f64};

PointwisePlan copy_plan(DType from, DType to, Inner inner = Inner::contiguous) {
  PointwisePlan plan;
  plan.operands = {{from, inner}};
  plan.results = {to};
  plan.program = flatten(Expr::arg(0, compute_scalar(from)));
  return plan;
}

TEST(Pointwise, CopiesEveryDTypeAtOddSizesAndWritesNothingElse) {
  Philox rng(1);
  for (const X86Target& target : target_levels())
    for (DType dtype : kDTypes) {
      CompiledPlan kernel(copy_plan(dtype, dtype), target);
      const auto size = static_cast<size_t>(size_bytes(dtype));
      for (int64_t n : kSizes) {
        const size_t bytes = static_cast<size_t>(n) * size;
        Guarded in(bytes), out(bytes);
        for (std::byte& b : in.as<std::byte>())
          b = static_cast<std::byte>(dtype == DType::boolean ? rng.below(2) : rng.below(100));
        void* const sources[] = {in.data()};
        void* const targets[] = {out.data()};
        kernel.run(flat_args(sources, targets, n));
        EXPECT_EQ(std::memcmp(in.data(), out.data(), bytes), 0)
            << to_string(dtype) << " " << n << " " << to_string(target);
        EXPECT_TRUE(out.intact()) << to_string(dtype) << " " << n << " " << to_string(target);
      }
    }
}

std::vector<float> rounding_cases() {
  std::vector<float> values;
  for (uint64_t b : edge_values(Scalar::f32)) values.push_back(as_f32(b));
  for (uint32_t b = 0; b < 0x7f800000; b += 30011)
    values.push_back(std::bit_cast<float>(b)), values.push_back(-values.back());
  for (float x : {0x1p-126f, 0x1p-133f, 0x1.8p-134f, 0x1p-134f, 0x1.fffffep-127f, 65519.0f, 65520.0f, 0x1p-24f,
                  0x1p-25f, 0x1.8p-25f, 3.4e38f})
    values.push_back(x), values.push_back(-x);
  values.push_back(std::bit_cast<float>(0xffc12345)), values.push_back(std::bit_cast<float>(0x7f800001));
  return values;
}

TEST(Pointwise, StoresRoundAsFloatBitsDoes) {
  std::vector<float> values = rounding_cases();
  std::vector<uint16_t> out(values.size());
  void* const sources[] = {values.data()};
  void* const targets[] = {out.data()};
  for (const X86Target& target : target_levels()) {
    CompiledPlan(copy_plan(DType::f32, DType::bf16), target)
        .run(flat_args(sources, targets, static_cast<int64_t>(values.size())));
    for (size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(out[i], f32_to_bf16(values[i])) << values[i] << " at " << to_string(target);
    CompiledPlan(copy_plan(DType::f32, DType::f16), target)
        .run(flat_args(sources, targets, static_cast<int64_t>(values.size())));
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::isnan(values[i])) EXPECT_GT(out[i] & 0x7fff, 0x7c00);
      else ASSERT_EQ(out[i], f32_to_f16(values[i])) << values[i] << " at " << to_string(target);
    }
  }
}

TEST(Pointwise, LoadsOfHalfFloatsAreExactForAllCodes) {
  std::vector<uint16_t> codes(65536);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint16_t>(i);
  std::vector<float> out(codes.size());
  void* const sources[] = {codes.data()};
  void* const targets[] = {out.data()};
  for (const X86Target& target : target_levels())
    for (DType dtype : {DType::bf16, DType::f16}) {
      CompiledPlan(copy_plan(dtype, DType::f32), target).run(flat_args(sources, targets, 65536));
      for (size_t i = 0; i < codes.size(); ++i) {
        const float expected = dtype == DType::bf16 ? bf16_to_f32(codes[i]) : f16_to_f32(codes[i]);
        ASSERT_TRUE(same_value(Scalar::f32, bits(out[i]), bits(expected))) << to_string(dtype) << " code " << i;
      }
    }
}

TEST(Pointwise, StridedAndBroadcastOperandsOfThreeAxes) {
  // result[i,j,k] = a[k,j,i] * b[j] + index, a transposed, b broadcast along i and k.
  constexpr int64_t I = 3, J = 5, K = 19;
  PointwisePlan plan;
  plan.rank = 3;
  plan.operands = {{DType::f32, Inner::strided}, {DType::bf16, Inner::broadcast}};
  plan.results = {DType::f32, DType::boolean};
  const Expr product = Expr::arg(0, Scalar::f32) * Expr::arg(1, Scalar::f32) + cast(Scalar::f32, Expr::index());
  const Expr results[] = {product, product > 20};
  plan.program = flatten(results);
  std::vector<float> a(I * J * K);
  std::vector<uint16_t> b(J);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i) * 0.25f;
  for (size_t i = 0; i < b.size(); ++i) b[i] = f32_to_bf16(static_cast<float>(i) - 2);
  for (const X86Target& target : target_levels()) {
    CompiledPlan kernel(plan, target);
    for (int64_t chunk : {0, 1, 4}) {
      Guarded out(a.size() * 4), flags(a.size());
      const PointwiseKernelArgs args{.values = {a.data(), b.data(), out.data(), flags.data()},
                                     .sizes = {I, J, K, /*a*/ 1, I, I * J, /*b*/ 0, 1, 0}};
      kernel.run(args, chunk);
      for (int64_t i = 0; i < I; ++i)
        for (int64_t j = 0; j < J; ++j)
          for (int64_t k = 0; k < K; ++k) {
            const auto flat = static_cast<size_t>((i * J + j) * K + k);
            const float expected =
                a[static_cast<size_t>((k * J + j) * I + i)] * (static_cast<float>(j) - 2) + static_cast<float>(flat);
            ASSERT_EQ(out.as<float>()[flat], expected) << i << " " << j << " " << k;
            ASSERT_EQ(flags.as<uint8_t>()[flat], expected > 20);
          }
      EXPECT_TRUE(out.intact() && flags.intact());
    }
  }
}

TEST(Pointwise, AnyPiecesGiveTheSameBits) {
  const Expr x = Expr::arg(0, Scalar::f32);
  const Program gelu = flatten(0.5f * x * (1.0f + erf(x * 0.70710678f)));
  std::vector<float> in(1000), whole(1000), pieces(1000);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i) * 0.01f - 5;
  void* const sources[] = {in.data()};
  void* const first[] = {whole.data()};
  void* const second[] = {pieces.data()};
  for (const X86Target& target : target_levels()) {
    CompiledPlan kernel(flat_plan(gelu), target);
    kernel.run(flat_args(sources, first, 1000));
    kernel.run(flat_args(sources, second, 1000), 13);
    EXPECT_EQ(whole, pieces);
    EXPECT_FLOAT_EQ(whole[600], 0.5f * in[600] * (1 + std::erf(in[600] * 0.70710678f)));
  }
}

TEST(Pointwise, RefusesWhatDoesNotFitTheArguments) {
  PointwisePlan plan = copy_plan(DType::f32, DType::f32);
  plan.rank = 7;
  EXPECT_FALSE(supports(plan, parse_target("avx2")).supported());
  plan.rank = 1;
  EXPECT_TRUE(supports(plan, parse_target("avx2")).supported());
  plan.operands.assign(16, {DType::f32, Inner::contiguous});
  EXPECT_FALSE(supports(plan, parse_target("avx2")).supported());
}

}  // namespace
}  // namespace hone
