// Gemm kernels against double, on every level that this CPU has.
#include <gtest/gtest.h>

#include <numeric>

#include "base/float_bits.h"
#include "formats/registry.h"
#include "tests/codegen/gemm_run.h"
#include "tests/support/packed_examples.h"

namespace hone::test {
namespace {

constexpr int64_t kRows[] = {1, 2, 7, 8, 9, 16, 17, 128};

TEST(Gemm, OddShapesStayWithinTheBoundAndTheirMemory) {
  Philox rng(1);
  for (IsaLevel isa : available_isa_levels())
    for (DType dtype : {DType::f32, DType::bf16})
      for (int64_t n : {1, 7, 16, 17, 48, 100})
        for (int64_t k : {1, 2, 3, 7, 31, 32, 33, 64, 100}) {
          const Tensor w = random_tensor(dtype, {n, k}, rng);
          GemmRunner gemm(plain_plan(n, k, dtype, dtype), isa, w);
          for (int64_t m : kRows) {
            if (m == 128 && k != 100) continue;
            const Tensor a = random_tensor(dtype, {m, k}, rng);
            const std::vector<float> got = gemm.run(a);
            ASSERT_EQ(first_fault(got, reference_products(a, w), k), "")
                << to_string(isa) << " " << to_string(dtype) << " " << m << "x" << n << "x" << k;
            ASSERT_TRUE(gemm.intact()) << to_string(isa) << " " << m << "x" << n << "x" << k;
          }
        }
}

TEST(Gemm, MixedElementTypesOfActivationsAndWeights) {
  Philox rng(2);
  for (IsaLevel isa : available_isa_levels())
    for (auto [a_type, w_type] : {std::pair{DType::f32, DType::bf16}, {DType::bf16, DType::f32}})
      for (int64_t k : {1, 33, 64}) {
        const Tensor w = random_tensor(w_type, {50, k}, rng), a = random_tensor(a_type, {13, k}, rng);
        GemmRunner gemm(plain_plan(50, k, a_type, w_type), isa, w);
        ASSERT_EQ(first_fault(gemm.run(a), reference_products(a, w), k), "") << to_string(isa) << " k " << k;
      }
}

TEST(Gemm, KnownRowsChooseOtherTilesAndGiveTheSame) {
  Philox rng(3);
  for (IsaLevel isa : available_isa_levels())
    for (int64_t m : {1, 2, 3, 5, 9, 17, 49, 130}) {
      GemmPlan plan = plain_plan(48, 65, DType::f32, DType::f32);
      plan.m_hint = m;
      plan.m_remainder = m % gemm_tile_rows(plan, isa);
      plan.a_row_stride = plan.k;
      const Tensor w = random_tensor(DType::f32, {48, 65}, rng), a = random_tensor(DType::f32, {m, 65}, rng);
      GemmRunner gemm(plan, isa, w);
      ASSERT_EQ(first_fault(gemm.run(a), reference_products(a, w), 65), "") << to_string(isa) << " m " << m;
      ASSERT_TRUE(gemm.intact());
    }
}

TEST(Gemm, SmallIntegersAreExact) {
  Philox rng(4);
  for (IsaLevel isa : available_isa_levels())
    for (DType dtype : {DType::f32, DType::bf16}) {
      const Tensor w = small_integers(dtype, {100, 257}, rng), a = small_integers(dtype, {19, 257}, rng);
      GemmRunner gemm(plain_plan(100, 257, dtype, dtype), isa, w);
      const std::vector<float> got = gemm.run(a);
      const std::vector<Products> want = reference_products(a, w);
      for (size_t i = 0; i < want.size(); ++i) ASSERT_EQ(got[i], want[i].sum) << to_string(isa) << " output " << i;
    }
}

// The bound is no blanket: a result that lacks its largest product is out of it.
TEST(Gemm, ADroppedProductIsOutsideTheBound) {
  Philox rng(5);
  const IsaLevel isa = best_isa_level();
  const Tensor w = random_tensor(DType::f32, {17, 100}, rng), a = random_tensor(DType::f32, {9, 100}, rng);
  GemmRunner gemm(plain_plan(17, 100, DType::f32, DType::f32), isa, w);
  const std::vector<float> got = gemm.run(a);
  std::vector<Products> want = reference_products(a, w);
  ASSERT_EQ(first_fault(got, want, 100), "");
  Products& one = want[rng.below(static_cast<uint32_t>(want.size()))];
  one.sum -= one.largest;
  EXPECT_NE(first_fault(got, want, 100), "");
}

// Formats beside the examples whose layouts differ: code widths, tiny and odd groups, one scale in all.
std::vector<std::string> tested_formats() {
  std::vector<std::string> names = packed_examples();
  for (const char* name :
       {"int4.g128", "int8.g5", "int3.g32", "int5.channel", "int12.g16", "uint8", "int2.f0", "mxint8.g10", "mxint2",
        "mxfp8_e4m3.g16", "fp8_e5m2.g32", "int4.f2", "minifloat_e5m7", "int20.f10"})
    names.push_back(name);
  return names;
}

// Each level decodes in the loop (few rows expected) and into scratch (any number), f32 and bf16 activations.
TEST(GemmPacked, EveryFormatDecodesInTheLoopAndIntoScratch) {
  Philox rng(6);
  const std::vector<std::string> names = tested_formats();
  ASSERT_GT(names.size(), 15u);
  constexpr int64_t kN = 35, kK = 77;
  for (const std::string& name : names) {
    const Tensor w = pack(parse_format(name), random_tensor(DType::f32, {kN, kK}, rng));
    for (DType dtype : {DType::f32, DType::bf16}) {
      const Tensor a = random_tensor(dtype, {19, kK}, rng);
      const std::vector<Products> want = reference_products(a, w);
      for (IsaLevel isa : available_isa_levels())
        for (int64_t m_hint : {3, 0}) {
          // Where the CPU has no bf16 dot product, both activations meet the same decoder: one of each is enough.
          if (isa != IsaLevel::avx512_bf16 && (dtype == DType::bf16) != (m_hint == 3)) continue;
          GemmRunner gemm(packed_plan(name, kN, kK, dtype, m_hint), isa, w);
          ASSERT_EQ(first_fault(gemm.run(a), want, kK), "")
              << to_string(isa) << " " << name << " " << to_string(dtype) << " hint " << m_hint;
          ASSERT_TRUE(gemm.intact());
        }
    }
  }
}

// Expecting one row, an item takes several panels at a time; 18 panels leave some over for 4 and none for 2.
TEST(GemmPacked, OneRowGoesOverSeveralPanelsAtATime) {
  Philox rng(11);
  constexpr int64_t kN = 550, kK = 70;
  for (const char* name : {"mxint8", "mxfp4", "int4.channel", "mxfp6_e2m3", "mxint5", "mxint3", "uint4.g16.asym",
                           "uint8.g16.asym", "nvfp4"}) {
    const Tensor w = pack(parse_format(name), random_tensor(DType::f32, {kN, kK}, rng));
    for (DType dtype : {DType::f32, DType::bf16})
      for (IsaLevel isa : available_isa_levels()) {
        GemmRunner gemm(packed_plan(name, kN, kK, dtype, 1), isa, w);
        for (int64_t m : {1, 3}) {
          const Tensor a = random_tensor(dtype, {m, kK}, rng);
          const std::vector<float> got = gemm.run(a);
          ASSERT_EQ(first_fault(got, reference_products(a, w), kK), "") << to_string(isa) << " " << name << " m " << m;
          ASSERT_TRUE(gemm.intact());
          ASSERT_EQ(gemm.run(a, 1), got) << "items one by one";
        }
      }
  }
}

// Weights that a format holds exactly: powers of two scale small integers, and f32 scales are 1 where the largest code
// occurs.
TEST(GemmPacked, IntegersAreExact) {
  Philox rng(7);
  constexpr int64_t kN = 33, kK = 96;
  for (const char* name : {"mxint8", "mxint4", "mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4", "int8",
                           "int4.g32", "int8.channel"}) {
    const Format format = parse_format(name);
    Tensor plain = small_integers(DType::f32, {kN, kK}, rng);
    if (format.scale.bits == 32)
      for (int64_t n = 0; n < kN; ++n)
        for (int64_t k = 0; k < kK; k += 32)
          plain.mutable_as<float>()[static_cast<size_t>(n * kK + k)] =
              static_cast<float>(format.codec->max(format.element));
    const Tensor w = pack(format, plain);
    for (DType dtype : {DType::f32, DType::bf16}) {
      const Tensor a = small_integers(dtype, {11, kK}, rng);
      const std::vector<Products> want = reference_products(a, w);
      for (IsaLevel isa : available_isa_levels())
        for (int64_t m_hint : {2, 0}) {
          GemmRunner gemm(packed_plan(name, kN, kK, dtype, m_hint), isa, w);
          const std::vector<float> got = gemm.run(a);
          for (size_t i = 0; i < want.size(); ++i)
            ASSERT_EQ(got[i], want[i].sum)
                << to_string(isa) << " " << name << " " << to_string(dtype) << " hint " << m_hint << " output " << i;
        }
    }
  }
}

TEST(GemmPacked, EveryCodeDecodesExactlyIncludingNan) {
  // A = 1 in one place: results are single weights.
  for (const char* name :
       {"mxint8", "mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e3m2", "mxfp4", "int8.f3", "int12.f4", "fp8_e4m3", "fp8_e5m2"}) {
    const Format format = parse_format(name);
    const int64_t codes = int64_t{1} << format.element.bits;
    Tensor w = pack(
        format, Tensor::from_floats(DType::f32, {codes, 32}, std::vector<float>(static_cast<size_t>(codes * 32), 1.f)));
    Buffer plane(w.data().size());
    const int64_t line = static_cast<int64_t>(plane.size()) / codes;
    for (int64_t c = 0; c < codes; ++c)  // column 0 holds every code, the rest code 0
      for (int bit = 0; bit < format.element.bits; ++bit)
        if (c >> bit & 1) plane.mutable_bytes()[static_cast<size_t>(c * line + bit / 8)] |= std::byte(1 << (bit % 8));
    w = Tensor::packed(format, {codes, 32}, plane, w.scales(), w.zero_points(), w.global());
    const std::vector<float> values = w.to_floats();
    std::vector<float> one(32, 0.f);
    one[0] = 1;
    for (DType dtype : {DType::f32, DType::bf16})
      for (IsaLevel isa : available_isa_levels())
        for (int64_t m_hint : {1, 0}) {
          GemmRunner gemm(packed_plan(name, codes, 32, dtype, m_hint), isa, w);
          const std::vector<float> got = gemm.run(Tensor::from_floats(dtype, {1, 32}, one));
          for (int64_t c = 0; c < codes; ++c) {
            const float want = values[static_cast<size_t>(c * 32)];
            if (std::isnan(want)) ASSERT_TRUE(std::isnan(got[static_cast<size_t>(c)])) << name << " code " << c;
            else
              ASSERT_EQ(got[static_cast<size_t>(c)], want)
                  << to_string(isa) << " " << name << " " << to_string(dtype) << " hint " << m_hint << " code " << c;
          }
        }
  }
}

// The identity times W: results are single weights, codes and zero points from one end to the other.
TEST(GemmPacked, CodesLessTheirZeroPointsAreExact) {
  constexpr int64_t kK = 32;
  for (const int bits : {2, 4, 5, 6, 7, 8}) {
    const std::string name = fmt::format("uint{}.channel.asym", bits);
    const int64_t n = int64_t{1} << bits;
    const Tensor like = pack(parse_format(name), Tensor(DType::f32, {n, kK}));
    Buffer codes(like.data().size()), zeros(like.zero_points().size());
    ASSERT_EQ(zeros.size(), static_cast<size_t>(n));
    std::vector<float> want(static_cast<size_t>(kK * n));
    for (int64_t row = 0; row < n; ++row) {
      const int64_t zero = row * 37 % n;
      zeros.mutable_bytes()[static_cast<size_t>(row)] = static_cast<std::byte>(zero);
      for (int64_t k = 0; k < kK; ++k) {
        const int64_t code = (row + k * 7) % n;
        want[static_cast<size_t>(k * n + row)] = static_cast<float>(code - zero);
        for (int b = 0; b < bits; ++b)
          if (const int64_t at = (row * kK + k) * bits + b; code >> b & 1)
            codes.mutable_bytes()[static_cast<size_t>(at / 8)] |= std::byte(1 << (at % 8));
      }
    }
    const std::vector<float> ones(static_cast<size_t>(n), 1.f);
    const Tensor w = Tensor::packed(parse_format(name), {n, kK}, codes, Buffer::copy_of(std::as_bytes(std::span(ones))),
                                    zeros, like.global());
    std::vector<float> identity(static_cast<size_t>(kK * kK));
    for (int64_t k = 0; k < kK; ++k) identity[static_cast<size_t>(k * kK + k)] = 1;
    for (DType dtype : {DType::f32, DType::bf16})
      for (IsaLevel isa : available_isa_levels())
        for (int64_t m_hint : {1, 0}) {
          GemmRunner gemm(packed_plan(name, n, kK, dtype, m_hint), isa, w);
          ASSERT_EQ(gemm.run(Tensor::from_floats(dtype, {kK, kK}, identity)), want)
              << to_string(isa) << " " << name << " " << to_string(dtype) << " hint " << m_hint;
        }
  }
}

TEST(GemmPacked, AGroupWithANanScaleGivesNan) {
  for (const char* name : {"mxint8", "mxfp4", "int4.g32"}) {
    const Format format = parse_format(name);
    std::vector<float> values(2 * 64, 1.f);
    values[40] = std::numeric_limits<float>::quiet_NaN();
    const Tensor w = pack(format, Tensor::from_floats(DType::f32, {2, 64}, values));
    for (IsaLevel isa : available_isa_levels())
      for (int64_t m_hint : {1, 0}) {
        GemmRunner gemm(packed_plan(name, 2, 64, DType::bf16, m_hint), isa, w);
        const std::vector<float> got = gemm.run(Tensor::from_floats(DType::bf16, {1, 64}, std::vector<float>(64, 1.f)));
        EXPECT_TRUE(std::isnan(got[0])) << name;
        EXPECT_EQ(got[1], 64) << name;
      }
  }
}

// Row n, or tile n, has scale code n, NaN and negative ones among them, and the value 1.5 or the nearest to it in one
// place of each row.
TEST(GemmPacked, EveryScaleCodeScalesExactly) {
  constexpr int64_t kCodes = 256, kK = 32;
  for (const char* name : {"mxint8", "mxfp8_e4m3", "mxfp4", "nvfp4", "mxint3", "bfp8.g8x32"}) {
    const Format format = parse_format(name);
    const int64_t rows = kCodes * std::max<int64_t>(1, format.geometry.rows);
    std::vector<float> values(rows * kK, 0.f), one(kK, 0.f);
    for (int64_t n = 0; n < rows; ++n) values[static_cast<size_t>(n * kK)] = n % 2 ? 1.5f : -1.5f;
    one[0] = 1;
    const Tensor packed = pack(format, Tensor::from_floats(DType::f32, {rows, kK}, values));
    Buffer scales = packed.scales();
    const int64_t apart = static_cast<int64_t>(scales.size()) / kCodes;
    for (int64_t n = 0; n < kCodes; ++n) scales.mutable_bytes()[static_cast<size_t>(n * apart)] = std::byte(n);
    const Tensor w = Tensor::packed(format, {rows, kK}, packed.data(), scales, packed.zero_points(), packed.global());
    const std::vector<float> want = w.to_floats();
    for (DType dtype : {DType::f32, DType::bf16})
      for (IsaLevel isa : available_isa_levels())
        for (int64_t m_hint : {1, 0}) {
          GemmRunner gemm(packed_plan(name, rows, kK, dtype, m_hint), isa, w);
          const std::vector<float> got = gemm.run(Tensor::from_floats(dtype, {1, kK}, one));
          for (int64_t n = 0; n < rows; ++n) {
            const float x = got[static_cast<size_t>(n)], y = want[static_cast<size_t>(n * kK)];
            if (std::isnan(y)) {
              ASSERT_TRUE(std::isnan(x)) << name << " row " << n;
            } else if (x != y) {  // infinities are equal
              ASSERT_NEAR(x, y, std::abs(y) < 0x1p-120f ? 0x1p-120 : 1e-6 * std::abs(double{y}))
                  << to_string(isa) << " " << name << " " << to_string(dtype) << " hint " << m_hint << " row " << n;
            }
          }
        }
  }
}

// Panels so long that they are decoded and multiplied part by part.
TEST(GemmPacked, LongPanelsAreMultipliedInParts) {
  Philox rng(21);
  constexpr int64_t kN = 40, kK = 1536;
  for (const char* name : {"mxint8", "mxfp4", "int4.g32", "int8.channel", "int4.g768", "nvfp4", "uint4.g128.asym",
                           "uint8.g128.asym", "mxint3", "ternary.tensor", "bfp8", "bfp8.g8x32", "int8.channel.ax1",
                           "int4.g12", "int16.channel", "bfp12", "minifloat_e5m10"}) {
    const Tensor w = pack(parse_format(name), random_tensor(DType::f32, {kN, kK}, rng));
    for (DType dtype : {DType::f32, DType::bf16}) {
      const Tensor a = random_tensor(dtype, {13, kK}, rng);
      const std::vector<Products> want = reference_products(a, w);
      for (IsaLevel isa : available_isa_levels()) {
        const GemmPlan plan = packed_plan(name, kN, kK, dtype, 0);
        EXPECT_LT(gemm_shape(plan, isa).block_k, kK) << name;
        const std::vector<float> got = GemmRunner(plan, isa, w).run(a);
        for (size_t i = 0; i < want.size(); ++i)
          ASSERT_NEAR(got[i], want[i].sum, products_bound(want[i], kK))
              << to_string(isa) << " " << name << " " << to_string(dtype) << " output " << i;
      }
    }
  }
}

TEST(Gemm, AnySplitOfTheItemsGivesTheSameBits) {
  Philox rng(8);
  const Tensor a = random_tensor(DType::f32, {300, 40}, rng), w = random_tensor(DType::f32, {130, 40}, rng);
  for (IsaLevel isa : available_isa_levels()) {
    GemmRunner gemm(plain_plan(130, 40, DType::f32, DType::f32), isa, w);
    const std::vector<float> whole = gemm.run(a);
    for (int64_t chunk : {1, 2, 3, 7}) EXPECT_EQ(gemm.run(a, chunk), whole) << to_string(isa) << " chunk " << chunk;
  }
}

// Bias per column, a full residual in bf16, a factor per row and a scalar; three results of different types.
TEST(GemmEpilogue, OperandsOfEveryAccessAndSeveralResults) {
  Philox rng(9);
  for (IsaLevel isa : available_isa_levels())
    for (int64_t n : {32, 37}) {
      constexpr int64_t kM = 11, kK = 24;
      GemmPlan plan = plain_plan(n, kK, DType::f32, DType::f32);
      using Access = GemmPlan::Access;
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
      const Buffer packed = prepack(plan, isa, w, 1);
      Guarded f32_out(static_cast<size_t>(kM * n) * 4), bf16_out(static_cast<size_t>(kM * n) * 2),
          f16_out(static_cast<size_t>(kM * n) * 2);
      const auto in = [](const Tensor& t) { return const_cast<std::byte*>(t.data().bytes().data()); };
      KernelArgs args;
      args.pointers = {in(a),          const_cast<std::byte*>(packed.bytes().data()),
                       in(bias),       in(full),
                       in(row),        const_cast<float*>(&factor),
                       f32_out.data(), bf16_out.data(),
                       f16_out.data()};
      args.dims = {kM, 1, 0, 0, 0, kK, 0, 1};
      CompiledPlan(plan, isa).run(args);
      ASSERT_TRUE(f32_out.intact() && bf16_out.intact() && f16_out.intact());
      const std::vector<Products> sums = reference_products(a, w);
      const std::vector<float> f = full.to_floats();
      for (int64_t i = 0; i < kM * n; ++i) {
        const size_t at = static_cast<size_t>(i), m = static_cast<size_t>(i / n), c = static_cast<size_t>(i % n);
        const float want =
            (static_cast<float>(sums[at].sum) + bias.as<float>()[c]) * row.as<float>()[m] + f[at] * factor;
        ASSERT_EQ(f32_out.as<float>()[at], want) << to_string(isa) << " " << i;
        ASSERT_EQ(bf16_out.as<uint16_t>()[at], f32_to_bf16(want));
        ASSERT_EQ(f16_out.as<uint16_t>()[at], f32_to_f16(std::max(want, 0.f)));
      }
    }
}

// Activation times activation: [batch, heads] of products whose operands lie side by side in rows, as in attention.
TEST(GemmActivations, BatchesWithStrides) {
  Philox rng(10);
  constexpr int64_t kBatches = 2, kHeads = 3;
  using Weights = GemmPlan::Weights;
  for (IsaLevel isa : available_isa_levels())
    for (DType dtype : {DType::f32, DType::bf16})
      for (Weights weights : {Weights::activation_nk, Weights::activation_kn})
        for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{5, 37, 19}, {17, 48, 32}, {9, 7, 65}}) {
          const int64_t w_rows = weights == Weights::activation_nk ? n : k, w_columns = n + k - w_rows;
          const Tensor a = random_tensor(dtype, {kBatches, m, kHeads * k}, rng),
                       w = random_tensor(dtype, {kBatches, w_rows, kHeads * w_columns}, rng);
          GemmPlan plan = plain_plan(n, k, dtype, dtype);
          plan.weights = weights;
          plan.result_row_stride = kHeads * n;
          Guarded out(static_cast<size_t>(kBatches * m * kHeads * n) * 4);
          KernelArgs args;
          args.pointers = {const_cast<std::byte*>(a.data().bytes().data()),
                           const_cast<std::byte*>(w.data().bytes().data()), out.data()};
          args.dims = {m,
                       kBatches * kHeads,
                       m * kHeads * k,
                       w_rows * kHeads * w_columns,
                       m * kHeads * n,
                       kHeads * k,
                       kHeads * w_columns,
                       kHeads,
                       k,
                       w_columns,
                       n};
          CompiledPlan(plan, isa).run(args, 2);
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
                      << to_string(isa) << " " << to_string(dtype) << " " << m << "x" << n << "x" << k;
                }
        }
}

TEST(GemmRefusal, SaysWhatIsNotMultiplied) {
  const IsaLevel isa = best_isa_level();
  EXPECT_TRUE(supports(plain_plan(8, 8, DType::f32, DType::f32), isa).accepted());
  EXPECT_NE(supports(plain_plan(8, 8, DType::i32, DType::f32), isa).why.find("i32"), std::string::npos);
  EXPECT_NE(supports(packed_plan("bf16", 8, 8, DType::f32, 0), isa).why.find("plain element type"), std::string::npos);
}

}  // namespace
}  // namespace hone::test
