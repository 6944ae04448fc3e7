// Gemm kernels against double, on every level that this CPU has.
#include <gtest/gtest.h>

#include "base/float_bits.h"
#include "kernels/gemm/plan.h"
#include "tests/device/x86/gemm_run.h"
#include "tests/device/x86/test_targets.h"

namespace hone::test {
namespace {

constexpr int64_t kRows[] = {1, 2, 7, 8, 9, 16, 17, 128};

TEST(Gemm, OddShapesStayWithinTheBoundAndTheirMemory) {
  Philox rng(1);
  for (const X86Target& target : test_targets())
    for (DType dtype : {DType::f32, DType::bf16})
      for (int64_t n : {1, 7, 16, 17, 48, 100})
        for (int64_t k : {1, 2, 3, 7, 31, 32, 33, 64, 100}) {
          const Tensor w = random_tensor(dtype, {n, k}, rng);
          GemmRunner gemm(plain_plan(n, k, dtype, dtype), target, w);
          for (int64_t m : kRows) {
            if (m == 128 && k != 100) continue;
            const Tensor a = random_tensor(dtype, {m, k}, rng);
            const std::vector<float> got = gemm.run(a);
            ASSERT_EQ(first_fault(got, reference_products(a, w), k), "")
                << name_of(target) << " " << to_string(dtype) << " " << m << "x" << n << "x" << k;
            ASSERT_TRUE(gemm.intact()) << name_of(target) << " " << m << "x" << n << "x" << k;
          }
        }
}

TEST(Gemm, MixedElementTypesOfActivationsAndWeights) {
  Philox rng(2);
  for (const X86Target& target : test_targets())
    for (auto [a_type, w_type] : {std::pair{DType::f32, DType::bf16}, {DType::bf16, DType::f32}})
      for (int64_t k : {1, 33, 64}) {
        const Tensor w = random_tensor(w_type, {50, k}, rng), a = random_tensor(a_type, {13, k}, rng);
        GemmRunner gemm(plain_plan(50, k, a_type, w_type), target, w);
        ASSERT_EQ(first_fault(gemm.run(a), reference_products(a, w), k), "") << name_of(target) << " k " << k;
      }
}

TEST(Gemm, KnownRowsChooseOtherTilesAndGiveTheSame) {
  Philox rng(3);
  for (const X86Target& target : test_targets())
    for (int64_t m : {1, 2, 3, 5, 9, 17, 49, 130}) {
      X86GemmPlan plan = plain_plan(48, 65, DType::f32, DType::f32);
      plan.rows = only_rows(plan, target, m);
      plan.a_row_stride = plan.k;
      const Tensor w = random_tensor(DType::f32, {48, 65}, rng), a = random_tensor(DType::f32, {m, 65}, rng);
      GemmRunner gemm(plan, target, w);
      ASSERT_EQ(first_fault(gemm.run(a), reference_products(a, w), 65), "") << name_of(target) << " m " << m;
      ASSERT_TRUE(gemm.intact());
    }
}

// What is made f32 in scratch first is multiplied as f32 is.
TEST(Gemm, ProductsOfBf16ThatAreWidenedHaveTheBitsOfF32) {
  Philox rng(32);
  constexpr int64_t kN = 100, kK = 77;
  const Tensor w = random_tensor(DType::bf16, {kN, kK}, rng),
               wide = Tensor::from_floats(DType::f32, {kN, kK}, w.to_floats());
  for (const X86Target& target : test_targets())
    for (int64_t m : {9, 17, 128, 200}) {
      const X86GemmPlan plan = for_target(plain_plan(kN, kK, DType::bf16, DType::bf16), target);
      if (gemm_shape(plan, target, gemm_case(m)).left != LeftRows::widened) continue;
      const Tensor a = random_tensor(DType::bf16, {m, kK}, rng);
      GemmRunner halves(plan, target, w), singles(plain_plan(kN, kK, DType::f32, DType::f32), target, wide);
      EXPECT_EQ(halves.run(a, 2), singles.run(Tensor::from_floats(DType::f32, {m, kK}, a.to_floats())))
          << name_of(target) << " " << m;
      EXPECT_TRUE(halves.intact());
    }
}

// Code for any number of rows, for these alone and for those of one case: the same bits.
TEST(Gemm, CodeForAnyRowsGivesTheBitsOfCodeForTheseRows) {
  Philox rng(31);
  for (const X86Target& target : test_targets())
    for (const char* format : {"", "mxint8", "mxint4", "int4.g32", "int16.channel"})
      for (DType dtype : {DType::f32, DType::bf16})
        for (int64_t n : {13, 32, 96}) {
          constexpr int64_t kK = 130;
          X86GemmPlan any = plain_plan(n, kK, dtype, dtype);
          any.w_format = format, any.a_row_stride = kK;
          const Tensor plain = random_tensor(*format ? DType::f32 : dtype, {n, kK}, rng),
                       w = *format ? pack(parse_format(format), plain) : plain;
          GemmRunner general(any, target, w);
          for (int64_t m : {1, 2, 3, 5, 7, 8, 9, 17, 49, 128, 131, 300}) {
            X86GemmPlan only = any;
            only.rows = only_rows(any, target, m);
            const Tensor a = random_tensor(dtype, {m, kK}, rng);
            ASSERT_EQ(general.run(a), GemmRunner(only, target, w).run(a))
                << name_of(target) << " " << format << " " << to_string(dtype) << " " << m << "x" << n;
            ASSERT_TRUE(general.intact());
          }
        }
}

// Products of two activations: n and k as arguments.
TEST(Gemm, CodeForAnyExtentsOfActivationsGivesTheBitsOfCodeForThese) {
  Philox rng(32);
  for (const X86Target& target : test_targets())
    for (DType dtype : {DType::f32, DType::bf16})
      for (auto weights : {X86GemmPlan::Weights::activation_nk, X86GemmPlan::Weights::activation_kn}) {
        X86GemmPlan any = plain_plan(0, 0, dtype, dtype);
        any.weights = weights;
        any = for_target(any, target);
        CompiledPlan general(any, target);
        for (int64_t m : {1, 5, 9, 40})
          for (int64_t n : {1, 5, 16, 33, 96})
            for (int64_t k : {1, 2, 31, 64}) {
              const Tensor a = random_tensor(dtype, {m, k}, rng), w = random_tensor(dtype, {n, k}, rng);
              X86GemmPlan only = any;
              only.n = n, only.k = k, only.a_row_stride = k;
              only.rows = only_rows(only, target, m);
              const auto run = [&](CompiledPlan& compiled) {
                Guarded out(static_cast<size_t>(m * n) * 4);
                const GemmArgs args{.a = const_cast<std::byte*>(a.data().bytes().data()),
                                    .w = const_cast<std::byte*>(w.data().bytes().data()),
                                    .epilogue = {out.data()},
                                    .m = m,
                                    .batches = 1,
                                    .a_row = k,
                                    .w_row = weights == X86GemmPlan::Weights::activation_nk ? k : n,
                                    .inner_batches = 1,
                                    .n = n,
                                    .k = k};
                compiled.run(args);
                EXPECT_TRUE(out.intact());
                const auto values = out.as<float>();
                return std::vector<float>(values.begin(), values.end());
              };
              CompiledPlan special(only, target);
              ASSERT_EQ(run(general), run(special)) << name_of(target) << " " << m << "x" << n << "x" << k;
            }
      }
}

// A as [M,K] and as [K,M], rows further apart than they are long, K in one block and in several, panels in one item or
// four, columns of A that lie 2048 bytes apart: exact, and code for any extents gives the same bits.
TEST(Gemm, OperandsMayLieTransposedAndApart) {
  Philox rng(33);
  for (const X86Target& target : test_targets())
    for (DType dtype : {DType::f32, DType::bf16})
      for (bool by_columns : {false, true})
        for (auto weights : {X86GemmPlan::Weights::activation_nk, X86GemmPlan::Weights::activation_kn}) {
          X86GemmPlan any = plain_plan(0, 0, dtype, dtype);
          any.weights = weights, any.a_by_columns = by_columns;
          any = for_target(any, target);
          CompiledPlan general(any, target);
          for (const auto& [m, n, k] : {std::array{1, 1, 1},
                                        {5, 33, 2},
                                        {9, 16, 31},
                                        {40, 100, 64},
                                        {8, 49, 515},
                                        {300, 17, 1100},
                                        {509, 20, 530},
                                        {17, 900, 600}}) {
            const int64_t a_room = (by_columns ? m : k) + 3,
                          w_rows = weights == X86GemmPlan::Weights::activation_nk ? n : k,
                          w_room = (n + k - w_rows) + 5;
            const Tensor a = small_integers(dtype, {by_columns ? k : m, a_room}, rng),
                         w = small_integers(dtype, {w_rows, w_room}, rng);
            const std::vector<float> x = a.to_floats(), y = w.to_floats();
            std::vector<float> want;
            for (int64_t i = 0; i < m; ++i)
              for (int64_t j = 0; j < n; ++j) {
                float sum = 0;
                for (int64_t l = 0; l < k; ++l)
                  sum += x[static_cast<size_t>(by_columns ? l * a_room + i : i * a_room + l)] *
                         y[static_cast<size_t>(weights == X86GemmPlan::Weights::activation_nk ? j * w_room + l
                                                                                              : l * w_room + j)];
                want.push_back(sum);
              }
            X86GemmPlan only = any;
            only.n = n, only.k = k;
            only.rows = only_rows(only, target, m);
            CompiledPlan special(only, target);
            for (CompiledPlan* compiled : {&general, &special}) {
              const std::vector<float> got = product_of_two(*compiled, a, w, {m, n, k});
              const auto fault = std::ranges::mismatch(got, want).in1 - got.begin();
              ASSERT_EQ(fault, std::ssize(want))
                  << name_of(target) << " " << to_string(dtype) << " " << m << "x" << n << "x" << k
                  << (by_columns ? " by columns" : "") << (compiled == &special ? " for these" : " for any")
                  << (weights == X86GemmPlan::Weights::activation_nk ? " nk" : " kn");
            }
          }
        }
}

TEST(Gemm, SmallIntegersAreExact) {
  Philox rng(4);
  for (const X86Target& target : test_targets())
    for (DType dtype : {DType::f32, DType::bf16}) {
      const Tensor w = small_integers(dtype, {100, 257}, rng), a = small_integers(dtype, {19, 257}, rng);
      GemmRunner gemm(plain_plan(100, 257, dtype, dtype), target, w);
      const std::vector<float> got = gemm.run(a);
      const std::vector<Products> want = reference_products(a, w);
      for (size_t i = 0; i < want.size(); ++i) ASSERT_EQ(got[i], want[i].sum) << name_of(target) << " output " << i;
    }
}

// The bound is no blanket: a result that lacks its largest product is out of it.
TEST(Gemm, ADroppedProductIsOutsideTheBound) {
  Philox rng(5);
  const X86Target target = host_target();
  const Tensor w = random_tensor(DType::f32, {17, 100}, rng), a = random_tensor(DType::f32, {9, 100}, rng);
  GemmRunner gemm(plain_plan(17, 100, DType::f32, DType::f32), target, w);
  const std::vector<float> got = gemm.run(a);
  std::vector<Products> want = reference_products(a, w);
  ASSERT_EQ(first_fault(got, want, 100), "");
  Products& one = want[rng.below(static_cast<uint32_t>(want.size()))];
  one.sum -= one.largest;
  EXPECT_NE(first_fault(got, want, 100), "");
}

TEST(Gemm, AnySplitOfTheItemsGivesTheSameBits) {
  Philox rng(8);
  const Tensor a = random_tensor(DType::f32, {300, 40}, rng), w = random_tensor(DType::f32, {130, 40}, rng);
  for (const X86Target& target : test_targets()) {
    GemmRunner gemm(plain_plan(130, 40, DType::f32, DType::f32), target, w);
    const std::vector<float> whole = gemm.run(a);
    for (int64_t chunk : {1, 2, 3, 7}) EXPECT_EQ(gemm.run(a, chunk), whole) << name_of(target) << " chunk " << chunk;
  }
}

// Bias per column, a full residual in bf16, a factor per row and a scalar; three results of different types.
TEST(GemmEpilogue, OperandsOfEveryAccessAndSeveralResults) {
  Philox rng(9);
  for (const X86Target& target : test_targets())
    for (int64_t n : {32, 37}) {
      constexpr int64_t kM = 11, kK = 24;
      X86GemmPlan plan = plain_plan(n, kK, DType::f32, DType::f32);
      using Access = X86GemmPlan::Access;
      plan.operands = {{DType::f32, Access::column},
                       {DType::bf16, Access::full},
                       {DType::f32, Access::row},
                       {DType::f32, Access::scalar}};
      const auto x = [](int i) { return Expr::arg(i, Scalar::f32); };
      const Expr y = (x(0) + x(1)) * x(3) + x(2) * x(4);
      const Expr results[] = {y, y, max(y, 0)};
      plan.program = flatten(results);
      plan.results = {DType::f32, DType::bf16, DType::f16};
      const Tensor a = small_integers(DType::f32, {kM, kK}, rng), w = small_integers(DType::f32, {n, kK}, rng);
      const Tensor bias = small_integers(DType::f32, {n}, rng), full = small_integers(DType::bf16, {kM, n}, rng),
                   row = small_integers(DType::f32, {kM}, rng);
      const float factor = 2;
      const Buffer packed = lay_out(plan, target, w, 1);
      Guarded f32_out(static_cast<size_t>(kM * n) * 4), bf16_out(static_cast<size_t>(kM * n) * 2),
          f16_out(static_cast<size_t>(kM * n) * 2);
      const auto in = [](const Tensor& t) { return const_cast<std::byte*>(t.data().bytes().data()); };
      const GemmArgs args{.a = in(a),
                          .w = const_cast<std::byte*>(packed.bytes().data()),
                          .epilogue = {in(bias), in(full), in(row), const_cast<float*>(&factor), f32_out.data(),
                                       bf16_out.data(), f16_out.data()},
                          .m = kM,
                          .batches = 1,
                          .a_row = kK,
                          .inner_batches = 1};
      CompiledPlan(plan, target).run(args);
      ASSERT_TRUE(f32_out.intact() && bf16_out.intact() && f16_out.intact());
      const std::vector<Products> sums = reference_products(a, w);
      const std::vector<float> f = full.to_floats();
      for (int64_t i = 0; i < kM * n; ++i) {
        const size_t at = static_cast<size_t>(i), m = static_cast<size_t>(i / n), c = static_cast<size_t>(i % n);
        const float want =
            (static_cast<float>(sums[at].sum) + bias.as<float>()[c]) * row.as<float>()[m] + f[at] * factor;
        ASSERT_EQ(f32_out.as<float>()[at], want) << name_of(target) << " " << i;
        ASSERT_EQ(bf16_out.as<uint16_t>()[at], f32_to_bf16(want));
        ASSERT_EQ(f16_out.as<uint16_t>()[at], f32_to_f16(std::max(want, 0.f)));
      }
    }
}

// Activation times activation: [batch, heads] of products whose operands lie side by side in rows, as in attention.
TEST(GemmActivations, BatchesWithStrides) {
  Philox rng(10);
  constexpr int64_t kBatches = 2, kHeads = 3;
  using Weights = X86GemmPlan::Weights;
  for (const X86Target& target : test_targets())
    for (DType dtype : {DType::f32, DType::bf16})
      for (Weights weights : {Weights::activation_nk, Weights::activation_kn})
        for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{5, 37, 19}, {17, 48, 32}, {9, 7, 65}}) {
          const int64_t w_rows = weights == Weights::activation_nk ? n : k, w_columns = n + k - w_rows;
          const Tensor a = random_tensor(dtype, {kBatches, m, kHeads * k}, rng),
                       w = random_tensor(dtype, {kBatches, w_rows, kHeads * w_columns}, rng);
          X86GemmPlan plan = plain_plan(n, k, dtype, dtype);
          plan.weights = weights;
          plan.result_row_stride = n == 7 ? kHeads * n : X86GemmPlan::kAnyStride;
          Guarded out(static_cast<size_t>(kBatches * m * kHeads * n) * 4);
          const GemmArgs args{.a = const_cast<std::byte*>(a.data().bytes().data()),
                              .w = const_cast<std::byte*>(w.data().bytes().data()),
                              .epilogue = {out.data()},
                              .m = m,
                              .batches = kBatches * kHeads,
                              .batch_strides = {m * kHeads * k, w_rows * kHeads * w_columns, m * kHeads * n},
                              .a_row = kHeads * k,
                              .w_row = kHeads * w_columns,
                              .inner_batches = kHeads,
                              .inner_strides = {k, w_columns, n},
                              .full_strides = {kHeads * n}};  // where it is any
          CompiledPlan(for_target(plan, target), target).run(args, 2);
          ASSERT_TRUE(out.intact());
          const std::vector<float> x = a.to_floats(), y = w.to_floats();
          for (int64_t b = 0; b < kBatches; ++b)
            for (int64_t h = 0; h < kHeads; ++h)
              for (int64_t i = 0; i < m; ++i)
                for (int64_t j = 0; j < n; ++j) {
                  Products p;
                  for (int64_t l = 0; l < k; ++l) {
                    const int64_t row = weights == Weights::activation_nk ? j : l,
                                  column = weights == Weights::activation_nk ? l : j;
                    const double product =
                        double{x[static_cast<size_t>(((b * m + i) * kHeads + h) * k + l)]} *
                        y[static_cast<size_t>(((b * w_rows + row) * kHeads + h) * w_columns + column)];
                    p.sum += product, p.abs_sum += std::abs(product);
                  }
                  const float got = out.as<float>()[static_cast<size_t>(((b * m + i) * kHeads + h) * n + j)];
                  ASSERT_NEAR(got, p.sum, products_bound(p, k))
                      << name_of(target) << " " << to_string(dtype) << " " << m << "x" << n << "x" << k;
                }
        }
}

// Any M, N and K: what code for any of them does decides the bits of all.
TEST(GemmActivations, OfBf16GoThroughTiles) {
  const X86Target target = with_emulated_tiles(target_levels().front());
  X86GemmPlan plan = plain_plan(0, 0, DType::bf16, DType::bf16);
  plan.weights = X86GemmPlan::Weights::activation_kn;
  plan = for_target(plan, target);
  EXPECT_TRUE(gemm_shape(plan, target).tiles());
  EXPECT_TRUE(gemm_shape(plan, target, 1).tiles());
  EXPECT_TRUE(multiplies_as_many(plan, target, 1));
  X86GemmPlan plain = plain_plan(0, 0, DType::f32, DType::f32);
  plain.weights = X86GemmPlan::Weights::activation_kn;
  EXPECT_FALSE(fits_tiles(plain, target));
}

TEST(GemmSupport, SaysWhatIsNotMultiplied) {
  const X86Target target = host_target();
  EXPECT_TRUE(supports(plain_plan(8, 8, DType::f32, DType::f32), target).supported());
  EXPECT_NE(supports(plain_plan(8, 8, DType::i32, DType::f32), target).why.find("i32"), std::string::npos);
  EXPECT_NE(supports(packed_plan("bf16", 8, 8, DType::f32, 0), target).why.find("plain element type"),
            std::string::npos);
}

}  // namespace
}  // namespace hone::test
