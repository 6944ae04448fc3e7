// Models of f16, as exporters write them: products are compiled, in f32 between roundings to f16.
#include <gtest/gtest.h>

#include "tests/conformance/conform_text.h"

namespace hone::test {
namespace {

TEST(Halves, AreMultipliedByCompiledProducts) {
  expect_text_conforms(R"(graph g {
    %x : f16[5,40] = input
    %w : f16[24,40] = const "w"
    %b : f16[24] = const "b"
    %y = linear %x, %w, %b
    %r = relu %y
    return %r
  })",
                       {}, {}, "gemm linear");
  expect_text_conforms(R"(graph g {
    %q : f16[2,3,7,16] = input
    %k : f16[2,3,9,16] = input
    %s = matmul %q, %k {transpose_b=1}
    return %s
  })",
                       {}, {}, "gemm matmul");
}

TEST(Halves, AreConvolvedByCompiledConvolutions) {
  expect_text_conforms(R"(graph g {
    %x : f16[1,8,9,11] = input
    %w : f16[16,8,3,3] = const "w"
    %y = conv %x, %w {pads=[1,1,1,1]}
    %r = relu %y
    return %r
  })",
                       {}, {}, "conv conv");
  expect_text_conforms(R"(graph g {
    %x : f16[1,8,9,11] = input
    %w : f16[8,1,3,3] = const "w"
    %y = conv %x, %w {pads=[1,1,1,1], groups=8}
    return %y
  })",
                       {}, {}, "window conv");
}

TEST(Halves, AttendByCompiledAttention) {
  expect_text_conforms(R"(graph g {
    %q : f16[2,7,48] = input
    %k : f16[2,9,48] = input
    %v : f16[2,9,48] = input
    %y = attention %q, %k, %v {heads=3}
    return %y
  })",
                       {}, {}, "attention attention");
}

TEST(Halves, ReadPackedWeights) {
  Philox rng(3);
  const Tensor w = pack(parse_format("int4.g8"), random_floats(rng, {24, 40}, DType::f32, -1, 1));
  expect_text_conforms(R"(graph g {
    %x : f16[5,40] = input
    %w : int4.g8[24,40] = const "w"
    %y = linear %x, %w
    return %y
  })",
                       {{"w", w}}, {}, "gemm linear");
}

}  // namespace
}  // namespace hone::test
