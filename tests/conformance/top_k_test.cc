// Top-k where heaps are deep, and where nobody reads one of its results.
#include <gtest/gtest.h>

#include "tests/conformance/conform_text.h"

namespace hone::test {
namespace {

TEST(TopK, SortsWholeRowsOfManyEqualElements) {
  expect_text_conforms("graph g {\n  %x : i64[3,4099] = input\n  %v, %i = top_k %x {k=[4099]}\n  return %v, %i\n}", {},
                       {}, "top_k top_k");
}

TEST(TopK, FewOfManyAndOneResultAlone) {
  expect_text_conforms("graph g {\n  %x : f32[2,5000,2] = input\n  %v, %i = top_k %x {k=[40], axis=1}\n  return %v\n}",
                       {}, {}, "top_k top_k");
  expect_text_conforms("graph g {\n  %x : f16[2,5000] = input\n  %v, %i = top_k %x {k=[40], largest=0}\n  return %i\n}",
                       {}, {}, "top_k top_k");
}

TEST(TopK, FindsTheClassOfEachPixel) {
  expect_text_conforms("graph g {\n  %x : f32[1,21,9,17] = input\n  %i = argmax %x {axis=1}\n  return %i\n}", {}, {},
                       "top_k argmax");
  expect_text_conforms("graph g {\n  %x : i32[4,33] = input\n  %i = argmin %x {keepdims=1}\n  return %i\n}", {}, {},
                       "top_k argmin");
}

}  // namespace
}  // namespace hone::test
