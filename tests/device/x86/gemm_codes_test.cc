// Products of codes: exact, whatever multiplies them. Where the CPU has no dot product of bytes, code that is made for
// one runs with it emulated.
#include <gtest/gtest.h>

#include <bit>

#include "tests/device/x86/at_the_edge.h"
#include "tests/device/x86/codes_run.h"
#include "tests/device/x86/test_targets.h"

namespace hone::test {
namespace {

std::vector<X86Target> targets_of_codes() {
  std::vector<X86Target> targets = test_targets();
  for (const X86Target& level : target_levels())
    targets.push_back(X86Target(level.features().with(Feature::vnni_emulated)));
  return targets;
}

std::vector<int32_t> exact_sums(const Tensor& a, const Tensor& w) {
  const std::vector<int64_t> x = a.to_integers(), y = w.to_integers();
  const auto m = static_cast<size_t>(a.dim(0)), n = static_cast<size_t>(w.dim(0)), k = static_cast<size_t>(a.dim(1));
  std::vector<int32_t> sums(m * n);
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j)
      for (size_t l = 0; l < k; ++l) sums[i * n + j] += static_cast<int32_t>(x[i * k + l] * y[j * k + l]);
  return sums;
}

std::vector<int32_t> as_integers(const std::vector<float>& bits) {
  std::vector<int32_t> integers;
  for (float f : bits) integers.push_back(std::bit_cast<int32_t>(f));
  return integers;
}

TEST(GemmOfCodes, SumsAreExactAndMemoryAroundIsLeftAlone) {
  Philox rng(1);
  for (const X86Target& target : targets_of_codes())
    for (DType dtype : {DType::i8, DType::u8})
      for (int64_t n : {1, 7, 17, 100})
        for (int64_t k : {1, 2, 3, 4, 31, 64, 131}) {
          const Tensor w = random_codes(DType::i8, {n, k}, rng);
          GemmRunner gemm(codes_plan(n, k, dtype), target, w);
          for (int64_t m : {1, 2, 7, 8, 9, 17, 128}) {
            if (m == 128 && k != 131) continue;
            const Tensor a = random_codes(dtype, {m, k}, rng);
            ASSERT_EQ(as_integers(gemm.run(a, n > 40 ? 2 : 0)), exact_sums(a, w))
                << name_of(target) << " " << to_string(dtype) << " " << m << "x" << n << "x" << k;
            ASSERT_TRUE(gemm.intact()) << name_of(target) << " " << m << "x" << n << "x" << k;
          }
        }
}

TEST(GemmOfCodes, KnownRowsGiveTheSame) {
  Philox rng(2);
  for (const X86Target& target : targets_of_codes())
    for (int64_t m : {1, 5, 9, 49, 130}) {
      X86GemmPlan plan = codes_plan(48, 65, DType::i8);
      plan.rows = only_rows(plan, target, m);
      plan.a_row_stride = plan.k;
      const Tensor w = random_codes(DType::i8, {48, 65}, rng), a = random_codes(DType::i8, {m, 65}, rng);
      GemmRunner gemm(plan, target, w);
      ASSERT_EQ(as_integers(gemm.run(a)), exact_sums(a, w)) << name_of(target) << " m " << m;
      ASSERT_TRUE(gemm.intact());
    }
}

// Tiles: a block of k after the other, rows of A where they lie or filled up in scratch, strips of one height and of
// two, panels of 16 columns.
TEST(GemmOfCodes, ManyRowsOfLongSums) {
  Philox rng(3);
  for (const X86Target& target : targets_of_codes())
    for (DType dtype : {DType::i8, DType::u8})
      for (auto [m, n, k] : {std::array{49, 40, 36 * 64}, {33, 16, 36 * 64 - 5}, {16, 33, 128}}) {
        X86GemmPlan plan = codes_plan(n, k, dtype);
        if (n == 40) plan.a_row_stride = k;
        const Tensor w = random_codes(DType::i8, {n, k}, rng), a = random_codes(dtype, {m, k}, rng);
        GemmRunner gemm(plan, target, w);
        ASSERT_EQ(as_integers(gemm.run(a)), exact_sums(a, w)) << name_of(target) << " " << m << "x" << n << "x" << k;
        ASSERT_TRUE(gemm.intact());
      }
}

// Rows that are no whole vectors, or steps of tiles, are filled up without a look at what lies behind them.
TEST(GemmOfCodes, NothingBehindTheRowsIsRead) {
  Philox rng(4);
  for (const X86Target& target : targets_of_codes())
    for (DType dtype : {DType::u8, DType::bf16})
      for (int64_t k : {1, 24, 85, 130}) {
        const bool codes = dtype == DType::u8;
        const X86GemmPlan plan = for_target(codes ? codes_plan(20, k, dtype) : plain_plan(20, k, dtype, dtype), target);
        const Tensor w = codes ? random_codes(DType::i8, {20, k}, rng) : small_integers(dtype, {20, k}, rng),
                     a = codes ? random_codes(dtype, {17, k}, rng) : small_integers(dtype, {17, k}, rng);
        const Buffer weights = lay_out(plan, target, w, 1);
        AtTheEdge rows(a.data().bytes());
        std::vector<float> sums(17 * 20);
        const GemmArgs args{.a = rows.data(),
                            .w = const_cast<std::byte*>(weights.bytes().data()),
                            .epilogue = {sums.data()},
                            .m = 17,
                            .batches = 1,
                            .a_row = k,
                            .inner_batches = 1};
        CompiledPlan(plan, target).run(args);
        const std::vector<Products> want = reference_products(a, w);
        for (size_t i = 0; i < sums.size(); ++i)
          ASSERT_EQ(codes ? static_cast<double>(std::bit_cast<int32_t>(sums[i])) : double{sums[i]}, want[i].sum)
              << name_of(target) << " k " << k << " output " << i;
      }
}

// 2^16 products of the largest codes are below 2^31; longer sums wrap, as those of linear do.
TEST(GemmOfCodes, LongSumsOfTheLargestCodesAreExactAndThenWrap) {
  for (const X86Target& target : targets_of_codes())
    for (int64_t k : {65536, 70000}) {
      const Tensor
          w = Tensor::of<int64_t>({3, k}, std::vector<int64_t>(static_cast<size_t>(3 * k), -128)).converted(DType::i8),
          a = Tensor::of<int64_t>({2, k}, std::vector<int64_t>(static_cast<size_t>(2 * k), 255)).converted(DType::u8);
      const auto sum = static_cast<int32_t>(static_cast<uint32_t>(-128 * 255 * k));
      EXPECT_EQ(sum == -128 * 255 * k, k == 65536);
      GemmRunner gemm(codes_plan(3, k, DType::u8), target, w);
      EXPECT_EQ(as_integers(gemm.run(a)), std::vector<int32_t>(6, sum)) << name_of(target);
    }
}

// The CPU's own instructions are chosen, whether or not this CPU has them.
TEST(GemmOfCodes, CodeIsMadeForEveryUnit) {
  const Features avx2 = Features().with(Feature::avx2);
  for (Feature unit : {Feature::avx_vnni, Feature::avx512_vnni, Feature::avx512, Feature::amx_int8})
    for (DType a : {DType::i8, DType::u8}) {
      const X86Target target(avx2.with(unit), microarchitecture("unknown"));
      CompiledPlan(for_target(codes_plan(48, 37, a), target), target);
    }
}

TEST(GemmOfCodes, AreRefusedBesideWeightsThatAreNotLaidOutAndOtherTypes) {
  const X86Target target = test_targets()[0];
  EXPECT_TRUE(gemm_support(codes_plan(8, 8, DType::u8), target).supported());
  X86GemmPlan activation = codes_plan(8, 8, DType::i8);
  activation.weights = X86GemmPlan::Weights::activation_nk;
  EXPECT_FALSE(gemm_support(activation, target).supported());
  EXPECT_FALSE(gemm_support(codes_plan(8, 8, DType::f32), target).supported());
  EXPECT_FALSE(gemm_support(plain_plan(8, 8, DType::i8, DType::f32), target).supported());
}

TEST(GemmOfCodes, DotProductsAreThoseOfTheTargetsUnit) {
  const Features avx2 = Features().with(Feature::avx2);
  const auto shape = [&](Features features) {
    return gemm_shape(codes_plan(64, 64, DType::i8), X86Target(features, microarchitecture("unknown")));
  };
  EXPECT_EQ(shape(avx2).unit, ProductUnit::int16);
  EXPECT_EQ(shape(avx2).code_form(), CodeForm::words);
  for (Feature unit : {Feature::avx_vnni, Feature::avx512_vnni, Feature::vnni_emulated}) {
    EXPECT_EQ(shape(avx2.with(unit)).unit, ProductUnit::int8) << to_string(unit);
    EXPECT_EQ(shape(avx2.with(unit)).code_form(), CodeForm::offset_bytes) << to_string(unit);
  }
  EXPECT_EQ(shape(avx2.with(Feature::avx512)).unit, ProductUnit::int16);
}

// No offset and no copy: tiles multiply codes of both signs.
TEST(GemmOfCodes, TilesReadCodesWhereTheyLie) {
  const X86Target target = with_emulated_tiles(target_levels().front());
  for (DType a : {DType::i8, DType::u8}) {
    const X86GemmPlan plan = for_target(codes_plan(64, 64, a), target);
    const GemmShape many = gemm_shape(plan, target), few = gemm_shape(plan, target, 8);
    EXPECT_TRUE(many.tiles() && many.left == LeftRows::as_they_lie);
    EXPECT_EQ(many.a, a);
    EXPECT_TRUE(!few.tiles() && few.left == LeftRows::codes) << "a few rows stream weights";
    EXPECT_EQ(many.panel_bytes(), few.panel_bytes());
    const GemmShape odd = gemm_shape(for_target(codes_plan(64, 65, a), target), target);
    EXPECT_EQ(odd.left, LeftRows::codes);
    EXPECT_EQ(odd.code_row_bytes(), 128);
  }
}

}  // namespace
}  // namespace hone::test
