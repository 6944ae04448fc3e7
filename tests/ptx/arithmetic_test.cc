// Instructions of one lane, each against what its definition says of numbers a person can check.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/ptx/run_kernel.h"
#include "tests/support/error_of.h"

namespace hone::ptx::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
uint32_t bits(float v) { return std::bit_cast<uint32_t>(v); }
using U = uint32_t;
using I = int32_t;

TEST(PtxIntegers, WrapAndSaturate) {
  EXPECT_EQ((result<U>("add.s32 d, a, b;", U{0xffffffff}, U{2})), 1u);
  EXPECT_EQ((result<I>("add.sat.s32 d, a, b;", I{INT32_MAX}, I{2})), INT32_MAX);
  EXPECT_EQ((result<I>("sub.sat.s32 d, a, b;", I{INT32_MIN}, I{2})), INT32_MIN);
  EXPECT_EQ((result<uint64_t>("sub.s64 d, a, b;", uint64_t{0}, uint64_t{1})), ~uint64_t{0});
  EXPECT_EQ((result<uint16_t>("add.u16 d, a, b;", uint16_t{0xffff}, uint16_t{3})), 2);
}
TEST(PtxIntegers, ProductsLowHighAndWide) {
  EXPECT_EQ((result<U>("mul.lo.u32 d, a, b;", U{0x10001}, U{0x10001})), 0x20001u);
  EXPECT_EQ((result<U>("mul.hi.u32 d, a, b;", U{0x80000000}, U{6})), 3u);
  EXPECT_EQ((result<I>("mul.hi.s32 d, a, b;", I{-1}, I{1})), -1);
  EXPECT_EQ((result<uint64_t>("mul.hi.u64 d, a, b;", uint64_t{1} << 63, uint64_t{10})), 5u);
  EXPECT_EQ((result<int64_t>("mul.wide.s32 d, a, b;", I{-3}, I{1 << 30})), -3 * (int64_t{1} << 30));
  EXPECT_EQ((result<uint64_t>("mul.wide.u32 d, a, b;", U{0xffffffff}, U{0xffffffff})), 0xfffffffe00000001u);
  EXPECT_EQ((result<U>("mul.wide.u16 d, a, b;", uint16_t{0xffff}, uint16_t{0xffff})), 0xfffe0001u);
  EXPECT_EQ((result<U>("mad.lo.s32 d, a, b, c;", U{3}, U{5}, U{0xffffffff})), 14u);
  EXPECT_EQ((result<uint64_t>("mad.wide.u32 d, a, b, c;", U{1u << 31}, U{4}, uint64_t{7})), (uint64_t{1} << 33) + 7);
}
TEST(PtxIntegers, DivisionTruncatesAndKeepsTheSignOfTheDividend) {
  EXPECT_EQ((result<I>("div.s32 d, a, b;", I{-7}, I{2})), -3);
  EXPECT_EQ((result<I>("rem.s32 d, a, b;", I{-7}, I{2})), -1);
  EXPECT_EQ((result<I>("div.s32 d, a, b;", I{INT32_MIN}, I{-1})), INT32_MIN);
  EXPECT_EQ((result<uint64_t>("rem.u64 d, a, b;", uint64_t{100}, uint64_t{7})), 2u);
}
TEST(PtxIntegers, ShiftsBeyondTheWidthLeaveNothingOrTheSign) {
  EXPECT_EQ((result<U>("shl.b32 d, a, b;", U{1}, U{32})), 0u);
  EXPECT_EQ((result<U>("shr.u32 d, a, b;", U{0x80000000}, U{31})), 1u);
  EXPECT_EQ((result<U>("shr.u32 d, a, b;", U{0x80000000}, U{40})), 0u);
  EXPECT_EQ((result<I>("shr.s32 d, a, b;", I{-8}, U{100})), -1);
  EXPECT_EQ((result<int64_t>("shr.s64 d, a, b;", int64_t{-8}, U{1})), -4);
  EXPECT_EQ((result<uint16_t>("shl.b16 d, a, b;", uint16_t{0x8001}, U{1})), 2);
  EXPECT_EQ((result<U>("shf.l.wrap.b32 d, a, b, c;", U{0x80000000}, U{1}, U{33})), 3u);
  EXPECT_EQ((result<U>("shf.r.clamp.b32 d, a, b, c;", U{5}, U{9}, U{40})), 9u);
  EXPECT_EQ((result<U>("shf.r.wrap.b32 d, a, b, c;", U{0x10}, U{1}, U{4})), 0x10000001u);
}
// What nothing set may go along, and is gone when the bits that something set are taken out.
TEST(PtxIntegers, BitsThatNothingSetAreFollowed) {
  EXPECT_EQ((result<U>("bfi.b32 %r50, %r51, a, 8, 8; xor.b32 %r50, %r50, 255; bfe.u32 d, %r50, 0, 8;", U{0x5a})),
            0xa5u);
  EXPECT_EQ((result<U>("bfi.b32 %r50, a, %r51, 16, 8; shr.u32 %r50, %r50, 16; and.b32 d, %r50, 255;", U{0x5a})), 0x5au);
  EXPECT_EQ((result<U>("shl.b32 %r50, %r51, 8; or.b32 %r50, %r50, a; prmt.b32 d, %r50, a, 0x4400;", U{7})),
            0x07070707u);
}
TEST(PtxIntegers, FieldsCountsAndBytes) {
  EXPECT_EQ((result<U>("bfe.u32 d, a, 4, 8;", U{0xabcd})), 0xbcu);
  EXPECT_EQ((result<I>("bfe.s32 d, a, 4, 8;", I{0xabcd})), static_cast<I>(0xffffffbc));
  EXPECT_EQ((result<I>("bfe.s32 d, a, 28, 8;", I{-1})), -1);
  EXPECT_EQ((result<U>("bfe.u32 d, a, 40, 8;", U{0xabcd})), 0u);
  EXPECT_EQ((result<U>("bfi.b32 d, a, b, 8, 4;", U{0xff}, U{0})), 0xf00u);
  EXPECT_EQ((result<U>("bfi.b32 d, a, b, 0, 32;", U{0xff}, U{7})), 0xffu);
  EXPECT_EQ((result<U>("popc.b64 d, a;", uint64_t{0xf0f0})), 8u);
  EXPECT_EQ((result<U>("clz.b32 d, a;", U{0})), 32u);
  EXPECT_EQ((result<U>("brev.b32 d, a;", U{1})), 0x80000000u);
  EXPECT_EQ((result<U>("prmt.b32 d, a, b, c;", U{0x80c10203}, U{0x43434343}, U{0x7372})), 0x438043c1u);
  EXPECT_EQ((result<U>("prmt.b32 d, a, b, 0xb;", U{0x80000000}, U{0})), 0xffu | 0x00000000u);
  EXPECT_EQ((result<U>("lop3.b32 d, a, b, c, 0xca;", U{0xf0}, U{0xaa}, U{0x55})), 0xa5u);  // a ? b : c
  EXPECT_EQ((result<I>("dp4a.s32.s32 d, a, b, c;", I{0x01ff02fe}, I{0x01010101}, I{10})), 10 + 1 - 1 + 2 - 2);
  EXPECT_EQ((result<U>("dp4a.u32.u32 d, a, b, c;", U{0xffffffff}, U{0x01010101}, U{0})), 4 * 255u);
  EXPECT_EQ((result<I>("neg.s32 d, a;", I{5})), -5);
  EXPECT_EQ((result<I>("abs.s32 d, a;", I{-5})), 5);
  EXPECT_EQ((result<U>("max.u32 d, a, b;", U{0xffffffff}, U{1})), 0xffffffffu);
  EXPECT_EQ((result<I>("max.s32 d, a, b;", I{-1}, I{1})), 1);
}

TEST(PtxFloats, EveryResultIsRoundedOnce) {
  const float tiny = std::ldexp(1.0f, -24);
  EXPECT_EQ((result<float>("add.rn.f32 d, a, b;", 1.0f, tiny)), 1.0f);  // a tie, to even
  EXPECT_EQ((result<float>("add.rn.f32 d, a, b;", 1.0f, std::nextafter(tiny, 1.0f))), std::nextafter(1.0f, 2.0f));
  EXPECT_EQ((result<float>("add.rz.f32 d, a, b;", 1.0f, 1.9f * tiny)), 1.0f);
  EXPECT_EQ((result<float>("sub.rz.f32 d, a, b;", 1.0f, 1e-30f)), std::nextafter(1.0f, 0.0f));
  // a * b is 1 + 2^-11 + 2^-24, of which f32 loses the last bit: only a fused sum has it.
  const float a = 1 + std::ldexp(1.0f, -12);
  EXPECT_EQ((result<float>("fma.rn.f32 d, a, b, c;", a, a, -(1 + std::ldexp(1.0f, -11)))), tiny);
  EXPECT_EQ((result<float>("mul.rn.f32 d, a, b;", a, a)), 1 + std::ldexp(1.0f, -11));
  EXPECT_EQ((result<double>("fma.rn.f64 d, a, b, c;", 3.0, 5.0, 1e-3)), std::fma(3.0, 5.0, 1e-3));
  EXPECT_EQ((result<float>("div.rn.f32 d, a, b;", 1.0f, 3.0f)), 1.0f / 3);
  EXPECT_EQ((result<float>("div.full.f32 d, a, b;", 1.0f, 3.0f)), 1.0f / 3);
  EXPECT_EQ((result<float>("rcp.rz.f32 d, a;", 3.0f)), std::nextafter(1.0f / 3, 0.0f));
  EXPECT_EQ((result<float>("sqrt.rn.f32 d, a;", 2.0f)), std::sqrt(2.0f));
  EXPECT_EQ((result<double>("sqrt.rn.f64 d, a;", 2.0)), std::sqrt(2.0));
}
TEST(PtxFloats, SubnormalsStayUnlessFlushed) {
  const float subnormal = std::ldexp(3.0f, -149);
  EXPECT_EQ((result<float>("add.rn.f32 d, a, b;", subnormal, subnormal)), 2 * subnormal);
  EXPECT_EQ((result<float>("add.rn.ftz.f32 d, a, b;", subnormal, 1.0f)), 1.0f);
  EXPECT_EQ(bits(result<float>("mul.rn.ftz.f32 d, a, b;", std::ldexp(-1.0f, -100), std::ldexp(1.0f, -40))),
            0x80000000u);
  EXPECT_EQ((result<float>("mul.rn.f32 d, a, b;", std::ldexp(1.0f, -100), std::ldexp(1.0f, -40))),
            std::ldexp(1.0f, -140));
}
TEST(PtxFloats, NanIsTheOneOfDevicesAndZerosHaveAnOrder) {
  EXPECT_EQ(bits(result<float>("add.rn.f32 d, a, b;", kInf, -kInf)), 0x7fffffffu);
  EXPECT_EQ((result<float>("max.f32 d, a, b;", kNan, -3.0f)), -3.0f);
  EXPECT_EQ(bits(result<float>("max.NaN.f32 d, a, b;", kNan, -3.0f)), 0x7fffffffu);
  EXPECT_EQ(bits(result<float>("min.f32 d, a, b;", 0.0f, -0.0f)), 0x80000000u);
  EXPECT_EQ(bits(result<float>("max.f32 d, a, b;", -0.0f, 0.0f)), 0u);
  EXPECT_EQ((result<float>("add.rn.sat.f32 d, a, b;", 1.0f, 3.0f)), 1.0f);
  EXPECT_EQ((result<float>("mul.rn.sat.f32 d, a, b;", kNan, 3.0f)), 0.0f);
  EXPECT_EQ((result<float>("copysign.f32 d, a, b;", -1.0f, 3.0f)), -3.0f);
  EXPECT_EQ(bits(result<float>("neg.f32 d, a;", 0.0f)), 0x80000000u);
}
TEST(PtxFloats, ApproximateFunctionsAreNearest) {
  EXPECT_EQ((result<float>("ex2.approx.ftz.f32 d, a;", -kInf)), 0.0f);
  EXPECT_EQ((result<float>("ex2.approx.f32 d, a;", 0.5f)), static_cast<float>(std::exp2(0.5)));
  EXPECT_EQ((result<float>("lg2.approx.f32 d, a;", 8.0f)), 3.0f);
  EXPECT_EQ((result<float>("rsqrt.approx.f32 d, a;", 4.0f)), 0.5f);
  EXPECT_EQ((result<float>("rcp.approx.ftz.f32 d, a;", std::ldexp(1.0f, -149))), kInf);
  EXPECT_EQ((result<float>("tanh.approx.f32 d, a;", 0.5f)), static_cast<float>(std::tanh(0.5)));
}

// Every pair of exponents, mantissas at random: f16 and bf16 against f64 rounded by another way.
TEST(PtxFloats, ShortFloatsAreRoundedOnce) {
  std::mt19937 random(5);
  for (int round = 0; round < 30; ++round) {
    std::vector<Half> a, b, c;
    std::vector<Bfloat> x, y, z;
    for (int lane = 0; lane < 32; ++lane) {
      a.push_back({static_cast<uint16_t>(random() % 0x7c00)}), b.push_back({static_cast<uint16_t>(random() % 0x5000)}),
          c.push_back({static_cast<uint16_t>(random() % 0xfc00)});
      x.push_back({static_cast<uint16_t>(random() % 0x6000)}), y.push_back({static_cast<uint16_t>(random() % 0x4000)});
      // As large as the product, so that both count.
      z.push_back({static_cast<uint16_t>(
          (random() & 0x8000) |
          (f32_to_bf16(bf16_to_f32(x.back().bits) * bf16_to_f32(y.back().bits)) ^ (random() & 0xff)))});
    }
    const auto got = results<Half>("fma.rn.f16 d, a, b, c;", a, b, c);
    const auto wide_got = results<Bfloat>("fma.rn.bf16 d, a, b, c;", x, y, z);
    for (size_t i = 0; i < 32; ++i) {
      // long double holds these sums, or is so near that a tie stays one.
      const long double sum = static_cast<long double>(wide(a[i])) * wide(b[i]) + wide(c[i]);
      const long double other = static_cast<long double>(wide(x[i])) * wide(y[i]) + wide(z[i]);
      for (const int step : {-1, 1}) {
        const Half neighbour{static_cast<uint16_t>(got[i].bits + step)};
        if (std::fabs(wide(got[i])) < 65504 && (got[i].bits & 0x7fff) != 0) {
          EXPECT_LE(std::fabs(wide(got[i]) - sum), std::fabs(wide(neighbour) - sum)) << got[i].bits;
        }
        const Bfloat next{static_cast<uint16_t>(wide_got[i].bits + step)};
        if (std::isfinite(wide(z[i])) && (wide_got[i].bits & 0x7fff) != 0) {
          EXPECT_LE(std::fabs(wide(wide_got[i]) - other), std::fabs(wide(next) - other)) << wide_got[i].bits;
        }
      }
    }
  }
  // f32 rounds 1 + 2^-8 + 2^-30 to a tie of bf16, which goes down; it is above the tie.
  EXPECT_EQ((result<Bfloat>("fma.rn.bf16 d, a, b, c;", Bfloat{f32_to_bf16(std::ldexp(1.0f, -15))},
                            Bfloat{f32_to_bf16(std::ldexp(1.0f, -15))}, Bfloat{f32_to_bf16(1.0f)})
                 .bits),
            0x3f80);
}
TEST(PtxFloats, PairsAreTwoNumbers) {
  const U ones = 0x3f803f80, minus = 0xc300c380;  // bf16: 1 and 1; -128 and -256
  EXPECT_EQ((result<U>("fma.rn.bf16x2 d, a, b, c;", U{0x43814301}, ones, minus)), 0x4302c2feu);
  EXPECT_EQ((result<U>("add.rn.f16x2 d, a, b;", U{0x3c004000}, U{0x3c003c00})), 0x40004200u);
  EXPECT_EQ((result<U>("mul.rn.bf16x2 d, a, b;", U{0x40003f80}, U{0x40004000})), 0x40804000u);
  EXPECT_EQ((result<U>("max.f16x2 d, a, b;", U{0x3c00bc00}, U{0x4000c000})), 0x4000bc00u);
  EXPECT_EQ((result<U>("neg.bf16x2 d, a;", U{0x3f800000})), 0xbf808000u);
}

TEST(PtxConversions, FloatsToIntegersClamp) {
  EXPECT_EQ((result<I>("cvt.rzi.s32.f32 d, a;", -2.9f)), -2);
  EXPECT_EQ((result<I>("cvt.rni.s32.f32 d, a;", 2.5f)), 2);
  EXPECT_EQ((result<I>("cvt.rmi.s32.f32 d, a;", -2.1f)), -3);
  EXPECT_EQ((result<I>("cvt.rpi.s32.f32 d, a;", 2.1f)), 3);
  EXPECT_EQ((result<I>("cvt.rzi.s32.f32 d, a;", 3e10f)), INT32_MAX);
  EXPECT_EQ((result<I>("cvt.rzi.s32.f32 d, a;", -3e10f)), INT32_MIN);
  EXPECT_EQ((result<U>("cvt.rzi.u32.f32 d, a;", -1.0f)), 0u);
  EXPECT_EQ((result<I>("cvt.rzi.s32.f32 d, a;", kNan)), 0);
  EXPECT_EQ((result<uint64_t>("cvt.rzi.u64.f64 d, a;", 1e30)), ~uint64_t{0});
  EXPECT_EQ((result<int16_t>("cvt.rzi.s16.f32 d, a;", 40000.0f)), INT16_MAX);
  EXPECT_EQ((result<U>("cvt.rni.sat.u8.f32 d, a;", 300.0f)), 255u);
}
TEST(PtxConversions, IntegersToFloatsRoundOnce) {
  EXPECT_EQ((result<float>("cvt.rn.f32.u64 d, a;", (uint64_t{1} << 40) + (1 << 16) + 1)),
            std::ldexp(1.0f, 40) + 131072);
  EXPECT_EQ((result<float>("cvt.rn.f32.s32 d, a;", I{-7})), -7.0f);
  EXPECT_EQ((result<float>("cvt.rz.f32.u32 d, a;", U{0xffffffff})), 4294967040.0f);
  EXPECT_EQ((result<double>("cvt.rn.f64.s64 d, a;", int64_t{-5})), -5.0);
  EXPECT_EQ((result<float>("cvt.rn.f32.s8 d, a;", I{0x80})), -128.0f);
}
TEST(PtxConversions, BetweenFloats) {
  EXPECT_EQ((result<Half>("cvt.rn.f16.f32 d, a;", 65520.0f).bits), 0x7c00);
  EXPECT_EQ((result<Half>("cvt.rz.f16.f32 d, a;", 65535.0f).bits), 0x7bff);
  EXPECT_EQ((result<Half>("cvt.rn.f16.f32 d, a;", std::ldexp(1.0f, -24)).bits), 1);
  EXPECT_EQ((result<Bfloat>("cvt.rn.bf16.f32 d, a;", 1.00390625f).bits), 0x3f80);
  EXPECT_EQ((result<float>("cvt.f32.f16 d, a;", uint16_t{0x0001})), std::ldexp(1.0f, -24));
  EXPECT_EQ((result<float>("cvt.rn.f32.f64 d, a;", 1e300)), kInf);
  EXPECT_EQ((result<float>("cvt.rni.f32.f32 d, a;", -2.5f)), -2.0f);
  EXPECT_EQ((result<float>("cvt.sat.f32.f32 d, a;", 7.0f)), 1.0f);
  EXPECT_EQ((result<U>("cvt.rn.bf16x2.f32 d, a, b;", 1.0f, -2.0f)), 0x3f80c000u);
  EXPECT_EQ((result<U>("cvt.rn.relu.f16x2.f32 d, a, b;", -1.0f, 2.0f)), 0x00004000u);
  EXPECT_EQ((result<U>("cvt.rna.tf32.f32 d, a;", std::bit_cast<float>(0x3f801000u))), 0x3f802000u);
}
TEST(PtxConversions, IntegersExtendAndAreCut) {
  EXPECT_EQ((result<uint64_t>("cvt.u64.u32 d, a;", U{0xffffffff})), 0xffffffffu);
  EXPECT_EQ((result<int64_t>("cvt.s64.s32 d, a;", I{-1})), -1);
  EXPECT_EQ((result<U>("cvt.u32.u64 d, a;", uint64_t{0x123456789})), 0x23456789u);
  EXPECT_EQ((result<I>("cvt.s32.s8 d, a;", U{0x1ff})), -1);
  EXPECT_EQ((result<I>("cvt.s32.s16 d, a;", uint16_t{0x8000})), -32768);
  EXPECT_EQ((result<uint16_t>("cvt.u16.u32 d, a;", U{0x12345})), 0x2345);
}
TEST(PtxMoves, PartsGoTogetherAndApart) {
  EXPECT_EQ((result<U>("mov.b32 d, {a, b};", uint16_t{0x1111}, uint16_t{0x2222})), 0x22221111u);
  EXPECT_EQ((result<uint64_t>("mov.b64 d, {a, b};", U{1}, U{2})), 0x200000001u);
  EXPECT_EQ((result<U>("{ .reg .b32 low; mov.b64 {low, d}, a; }", uint64_t{0x700000001})), 7u);
  EXPECT_EQ((result<U>("mov.b64 {_, d}, a;", uint64_t{0x700000001})), 7u);
  EXPECT_EQ((result<U>("setp.lt.s32 %p1, a, b; selp.b32 d, a, b, %p1;", U{0xffffffff}, U{5})), 0xffffffffu);
  EXPECT_EQ((result<U>("setp.lt.u32 %p1, a, b; selp.b32 d, a, b, !%p1;", U{3}, U{5})), 5u);
}
TEST(PtxComparisons, NanIsUnordered) {
  const auto holds = [](std::string_view how, float a, float b) {
    return result<U>(fmt::format("setp.{}.f32 %p1, a, b; selp.b32 d, 1, 0, %p1;", how), a, b);
  };
  EXPECT_EQ(holds("lt", kNan, 1.0f), 0u);
  EXPECT_EQ(holds("ltu", kNan, 1.0f), 1u);
  EXPECT_EQ(holds("ne", kNan, 1.0f), 0u);
  EXPECT_EQ(holds("neu", kNan, 1.0f), 1u);
  EXPECT_EQ(holds("num", 2.0f, 1.0f), 1u);
  EXPECT_EQ(holds("nan", 2.0f, kNan), 1u);
  EXPECT_EQ(holds("eq", 0.0f, -0.0f), 1u);
  EXPECT_EQ((result<U>("setp.gt.f16 %p1, a, b; selp.b32 d, 1, 0, %p1;", uint16_t{0x4000}, uint16_t{0x3c00})), 1u);
  // (1 < 2) and not: no; not (1 < 2), and not: no.
  // Of two halves at once: {1, NaN} beside {2, 2}, the low half's result first.
  const auto of_halves = [](const char* how) {
    return result<U>(fmt::format("setp.{}.f16x2 %p1|%p2, a, b; selp.b32 d, 1, 0, %p1; @%p2 add.u32 d, d, 2;", how),
                     U{0x7e003c00}, U{0x40004000});
  };
  EXPECT_EQ(of_halves("lt"), 1u);
  EXPECT_EQ(of_halves("num"), 1u);
  EXPECT_EQ(of_halves("nan"), 2u);
  EXPECT_EQ(of_halves("gtu"), 2u);
  EXPECT_EQ((result<U>("setp.ne.s32 %p3, a, a; setp.lt.and.s32 %p1|%p2, a, b, %p3; or.pred %p1, %p1, %p2; "
                       "selp.b32 d, 1, 0, %p1;",
                       I{1}, I{2})),
            0u);
}

}  // namespace
}  // namespace hone::ptx::test
