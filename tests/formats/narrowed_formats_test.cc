// Formats whose rounding generated code computes in f32.
#include <gtest/gtest.h>

#include "formats/element_rounding.h"
#include "formats/format_string.h"
#include "formats/learned_scale.h"
#include "tests/support/narrow_programs.h"

namespace hone {
namespace {

using namespace test;

TEST(NarrowedFormats, OfIntegersNeedNoF64) {
  Philox rng(13);
  const Expr x = Expr::arg(0, Scalar::f32), scale = Expr::arg(1, Scalar::f32);
  const Expr zero_point = Expr::arg(1, Scalar::f32);
  for (const char* name : {"int8", "int4", "uint8", "int16", "uint8.asym", "uint4.asym", "int8.channel", "int2"}) {
    const Program program = flatten(rounded(parse_format(name), LearnedElement{x, scale, zero_point}));
    EXPECT_FALSE(uses_f64(narrowed(program))) << name << "\n" << narrowed(program).to_text();
    expect_same_of_hard_numbers(program, rng);
  }
  for (const char* name : {"int8.f4", "int12.f8", "uint8.f8", "int4.f-3"}) {
    const Program program = flatten(rounded_element(parse_format(name), x));
    EXPECT_FALSE(uses_f64(narrowed(program))) << name << "\n" << narrowed(program).to_text();
    expect_same_of_hard_numbers(program, rng);
  }
}

}  // namespace
}  // namespace hone
