#include "expr/narrow.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/support/naive_scalar.h"
#include "tests/support/narrow_programs.h"
#include "tests/support/random_expr.h"

namespace hone {
namespace {

using namespace test;

const Expr x = Expr::arg(0, Scalar::f32), y = Expr::arg(1, Scalar::f32), i = Expr::arg(2, Scalar::i32);

Expr f64(const Expr& e) { return cast(Scalar::f64, e); }
// The text of what becomes of an expression.
#define EXPECT_NARROW(found, expected) EXPECT_EQ(narrowed(flatten(found)).to_text(), flatten(expected).to_text())

TEST(Narrowed, WhatF32HoldsIsMadeInF32) {
  EXPECT_NARROW(cast(Scalar::f32, rint(f64(x))), rint(x));
  EXPECT_NARROW(cast(Scalar::f32, max(f64(x), 0.5)), max(x, 0.5f));
  EXPECT_NARROW(f64(x) < f64(y), x < y);
  EXPECT_NARROW(cast(Scalar::i32, floor(f64(x))), cast(Scalar::i32, floor(x)));
  EXPECT_NARROW(cast(Scalar::f32, f64(x) * f64(y)), x * y);
  EXPECT_NARROW(cast(Scalar::f32, f64(x) - f64(y)), x - y);
}

TEST(Narrowed, WhatF32DoesNotHoldStays) {
  for (const Expr& e : {f64(x) * f64(y), f64(x) + f64(y), f64(i), cast(Scalar::f32, f64(x) / f64(y)),
                        cast(Scalar::f32, max(f64(x), 0.1)), cast(Scalar::f32, rint(f64(x) * f64(y)))})
    EXPECT_TRUE(uses_f64(narrowed(flatten(e)))) << to_string(e);
  // A factor of 2^-140 leaves f32 digits that rounding downwards would see.
  EXPECT_TRUE(uses_f64(narrowed(flatten(cast(Scalar::f32, min(max(floor(f64(x) * 0x1p-60), -8), 7))))));
}

// A bound just below a whole number becomes that number as f32.
TEST(Narrowed, BoundsThatF32RoundsAreNoBoundsOfWhatIsRounded) {
  const Expr byte = Expr::constant(Scalar::u32, 255);
  const auto extended = [&](const Expr& f32) {
    return (bitcast(Scalar::i32, bitcast(Scalar::u32, cast(Scalar::i32, f32)) & byte) << 24) >> 24;
  };
  const Expr clamped = cast(Scalar::f32, max(min(f64(x), 127.9999999999), -128));
  for (const Expr& e : {clamped, max(min(x, 0.25f), -0.25f) + 127.74999f}) {
    const Program program = flatten(extended(e)), narrow = narrowed(program);
    for (float v : {1000.0f, -1000.0f, 0.3f, 127.9f})
      EXPECT_EQ(evaluate(narrow, {{std::bit_cast<uint32_t>(v)}}), evaluate(program, {{std::bit_cast<uint32_t>(v)}}))
          << v;
  }
}

TEST(Narrowed, RandomProgramsKeepEveryValue) {
  const RandomProgramOptions options{
      .args = {Scalar::f32, Scalar::f64, Scalar::f64, Scalar::i32, Scalar::u32, Scalar::boolean}};
  Philox rng(11);
  for (int round = 0; round < 20000 && !HasFailure(); ++round) {
    const Program program = random_program(rng, options), narrow = narrowed(program);
    for (int repeat = 0; repeat < 3; ++repeat) {
      std::vector<uint64_t> args;
      for (Scalar type : program.args) args.push_back(random_value(type, rng));
      const std::vector<uint64_t> found = evaluate(narrow, args, 5), expected = naive_results(program, args, 5);
      for (size_t r = 0; r < found.size(); ++r)
        ASSERT_TRUE(same_value(program.result_type(static_cast<int>(r)), found[r], expected[r]))
            << std::hex << found[r] << " for " << expected[r] << "\n"
            << program.to_text() << "\n"
            << narrow.to_text();
    }
  }
}

// Chains as formats have them, of random parts: products with powers of two, roundings, clamps, casts and back.
Expr random_chain(Philox& rng) {
  const auto one_of = [&](std::initializer_list<double> numbers) {
    return numbers.begin()[rng.below(static_cast<uint32_t>(numbers.size()))];
  };
  Expr e = rng.below(3) == 0 ? f64(x / y) : f64(x);
  if (rng.below(2)) e = e * std::ldexp(1.0, static_cast<int>(rng.below(260)) - 130);
  const uint32_t rounding = rng.below(4);
  e = rounding == 0 ? floor(e) : rounding == 1 ? e : rint(e);
  if (rng.below(3) == 0) e = e + min(max(rint(f64(y)), 0), one_of({3, 255, 65535}));
  if (rng.below(3) == 0) e = rint(e);
  const double high = one_of({1, 7, 127, 255, 65535, 0x1p23, 2147483647}),
               low = one_of({0, -1, -8, -128, -65536, -2147483648.0});
  if (rng.below(5)) e = min(max(e, low), high);
  const uint32_t through = rng.below(3);
  if (through == 0) e = f64(cast(Scalar::u32, e));
  if (through == 1) {
    const int k = static_cast<int>(rng.below(31)) + 1;
    const Expr bits = bitcast(Scalar::u32, cast(Scalar::i32, e)) & Expr::constant(Scalar::u32, ~uint32_t{0} >> k);
    e = f64((bitcast(Scalar::i32, bits) << k) >> k);
  }
  if (rng.below(3) == 0) e = e - min(max(rint(f64(y)), 0), 255);
  if (rng.below(2)) e = e * std::ldexp(1.0, static_cast<int>(rng.below(60)) - 30);
  return cast(Scalar::f32, rng.below(2) ? e * f64(y) : e);
}

TEST(Narrowed, ChainsOfFormatsKeepEveryValue) {
  Philox rng(12);
  int narrow = 0;
  for (int round = 0; round < 3000 && !HasFailure(); ++round) {
    const Program program = flatten(random_chain(rng));
    narrow += uses_f64(program) && !uses_f64(narrowed(program));
    expect_same_of_hard_numbers(program, rng);
  }
  EXPECT_GT(narrow, 300);
}

}  // namespace
}  // namespace hone
