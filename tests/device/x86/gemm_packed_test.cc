// Gemm kernels on packed weights against what the format says, on every level that this CPU has.
#include <gtest/gtest.h>

#include <limits>

#include "formats/bits.h"
#include "kernels/gemm/plan.h"
#include "tests/device/x86/gemm_run.h"
#include "tests/device/x86/test_targets.h"
#include "tests/support/packed_examples.h"

namespace hone::test {
namespace {

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
      for (const X86Target& target : test_targets())
        for (int64_t few : {3, 0}) {
          // Where the CPU has no bf16 dot product, both activations meet the same decoder: one of each is enough.
          if (!target.has(Feature::avx512_bf16) && (dtype == DType::bf16) != (few == 3)) continue;
          GemmRunner gemm(packed_plan(name, kN, kK, dtype, few), target, w);
          ASSERT_EQ(first_fault(gemm.run(rows_for(a, few)), want, kK), "")
              << name_of(target) << " " << name << " " << to_string(dtype) << " hint " << few;
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
      for (const X86Target& target : test_targets()) {
        X86GemmPlan plan = packed_plan(name, kN, kK, dtype, 1);
        plan.rows.most = 3;
        GemmRunner gemm(plan, target, w);
        for (int64_t m : {1, 3}) {
          const Tensor a = random_tensor(dtype, {m, kK}, rng);
          const std::vector<float> got = gemm.run(a);
          ASSERT_EQ(first_fault(got, reference_products(a, w), kK), "") << name_of(target) << " " << name << " m " << m;
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
      for (const X86Target& target : test_targets())
        for (int64_t few : {2, 0}) {
          GemmRunner gemm(packed_plan(name, kN, kK, dtype, few), target, w);
          const std::vector<float> got = gemm.run(rows_for(a, few));
          for (size_t i = 0; i < std::min(got.size(), want.size()); ++i)
            ASSERT_EQ(got[i], want[i].sum)
                << name_of(target) << " " << name << " " << to_string(dtype) << " hint " << few << " output " << i;
        }
    }
  }
}

TEST(GemmPacked, EveryCodeDecodesExactlyIncludingNan) {
  // A = 1 in one place: results are single weights.
  for (const char* name : {"mxint8",   "mxint7",   "mxint5",   "mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e3m2", "mxfp4",
                           "int2.f3",  "int3.f3",  "int4.f3",  "int5.f3",    "int6.f3",    "int7.f3",    "int8.f3",
                           "int12.f4", "uint5.f3", "uint7.f3", "uint8.f3",   "fp8_e4m3",   "fp8_e5m2"}) {
    const Format format = parse_format(name);
    const int64_t codes = int64_t{1} << format.element.bits;
    Tensor w = pack(
        format, Tensor::from_floats(DType::f32, {codes, 32}, std::vector<float>(static_cast<size_t>(codes * 32), 1.f)));
    std::vector<uint32_t> stored(static_cast<size_t>(codes * 32));
    for (int64_t c = 0; c < codes; ++c) stored[static_cast<size_t>(c * 32)] = static_cast<uint32_t>(c);
    Buffer plane(w.data().size());  // column 0 holds every code, the rest code 0
    write_codes(plane.mutable_bytes().data(), format.element.bits, stored);
    w = Tensor::packed(format, {codes, 32}, plane, w.scales(), w.zero_points(), w.global());
    const std::vector<float> values = w.to_floats();
    std::vector<float> one(32, 0.f);
    one[0] = 1;
    for (DType dtype : {DType::f32, DType::bf16})
      for (const X86Target& target : test_targets())
        for (int64_t few : {1, 0}) {
          GemmRunner gemm(packed_plan(name, codes, 32, dtype, few), target, w);
          const std::vector<float> got = gemm.run(rows_for(Tensor::from_floats(dtype, {1, 32}, one), few));
          for (int64_t c = 0; c < codes; ++c) {
            const float want = values[static_cast<size_t>(c * 32)];
            if (std::isnan(want)) ASSERT_TRUE(std::isnan(got[static_cast<size_t>(c)])) << name << " code " << c;
            else
              ASSERT_EQ(got[static_cast<size_t>(c)], want)
                  << name_of(target) << " " << name << " " << to_string(dtype) << " hint " << few << " code " << c;
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
    std::vector<uint32_t> stored;
    std::vector<float> want(static_cast<size_t>(kK * n));
    for (int64_t row = 0; row < n; ++row) {
      const int64_t zero = row * 37 % n;
      zeros.mutable_bytes()[static_cast<size_t>(row)] = static_cast<std::byte>(zero);
      for (int64_t k = 0; k < kK; ++k) {
        const int64_t code = (row + k * 7) % n;
        stored.push_back(static_cast<uint32_t>(code));
        want[static_cast<size_t>(k * n + row)] = static_cast<float>(code - zero);
      }
    }
    write_codes(codes.mutable_bytes().data(), bits, stored);
    const std::vector<float> ones(static_cast<size_t>(n), 1.f);
    const Tensor w = Tensor::packed(parse_format(name), {n, kK}, codes, Buffer::copy_of(std::as_bytes(std::span(ones))),
                                    zeros, like.global());
    std::vector<float> identity(static_cast<size_t>(kK * kK));
    for (int64_t k = 0; k < kK; ++k) identity[static_cast<size_t>(k * kK + k)] = 1;
    for (DType dtype : {DType::f32, DType::bf16})
      for (const X86Target& target : test_targets())
        for (int64_t few : {1, 0}) {
          GemmRunner gemm(packed_plan(name, n, kK, dtype, few), target, w);
          const Tensor a = rows_for(Tensor::from_floats(dtype, {kK, kK}, identity), few);
          const std::vector<float> got = gemm.run(a), expected(want.begin(), want.begin() + std::ssize(got));
          ASSERT_EQ(got, expected) << name_of(target) << " " << name << " " << to_string(dtype) << " hint " << few;
        }
  }
}

TEST(GemmPacked, AGroupWithANanScaleGivesNan) {
  for (const char* name : {"mxint8", "mxfp4", "int4.g32"}) {
    const Format format = parse_format(name);
    std::vector<float> values(2 * 64, 1.f);
    values[40] = std::numeric_limits<float>::quiet_NaN();
    const Tensor w = pack(format, Tensor::from_floats(DType::f32, {2, 64}, values));
    for (const X86Target& target : test_targets())
      for (int64_t few : {1, 0}) {
        GemmRunner gemm(packed_plan(name, 2, 64, DType::bf16, few), target, w);
        const Tensor ones = Tensor::from_floats(DType::bf16, {1, 64}, std::vector<float>(64, 1.f));
        const std::vector<float> got = gemm.run(rows_for(ones, few));
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
      for (const X86Target& target : test_targets())
        for (int64_t few : {1, 0}) {
          GemmRunner gemm(packed_plan(name, rows, kK, dtype, few), target, w);
          const std::vector<float> got = gemm.run(rows_for(Tensor::from_floats(dtype, {1, kK}, one), few));
          for (int64_t n = 0; n < rows; ++n) {
            const float x = got[static_cast<size_t>(n)], y = want[static_cast<size_t>(n * kK)];
            if (std::isnan(y)) {
              ASSERT_TRUE(std::isnan(x)) << name << " row " << n;
            } else if (x != y) {  // infinities are equal
              ASSERT_NEAR(x, y, std::abs(y) < 0x1p-120f ? 0x1p-120 : 1e-6 * std::abs(double{y}))
                  << name_of(target) << " " << name << " " << to_string(dtype) << " hint " << few << " row " << n;
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
      for (const X86Target& target : test_targets()) {
        const X86GemmPlan plan = packed_plan(name, kN, kK, dtype, 0);
        EXPECT_LT(gemm_shape(plan, target).block_k(), kK) << name;
        const std::vector<float> got = GemmRunner(plan, target, w).run(a);
        for (size_t i = 0; i < want.size(); ++i)
          ASSERT_NEAR(got[i], want[i].sum, products_bound(want[i], kK))
              << name_of(target) << " " << name << " " << to_string(dtype) << " output " << i;
      }
    }
  }
}

}  // namespace
}  // namespace hone::test
