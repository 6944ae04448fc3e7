// Reductions that are taken element by element: of integers, which wrap.
#include "tests/conformance/conform_text.h"

namespace hone::test {
namespace {

TEST(Running, IntegersAreReducedInMachineCode) {
  for (const char* op : {"reduce_sum", "reduce_prod", "reduce_max", "reduce_min"})
    for (const char* dtype : {"i64", "i32", "u64", "i8", "u8"})
      for (const char* axes : {"-1", "0", "1", "0, 1"})
        expect_text_conforms(fmt::format(R"(graph g {{
      %x : {0}[3,70,17] = input "x"
      %three : {0}[] = const {{3}}
      %a = sub %x, %three
      %y = {1} %a {{axes=[{2}], keepdims=0}}
      return %y as "y"
    }})",
                                         dtype, op, axes),
                             {}, {}, fmt::format("running {}; ", op));
}

TEST(Running, SumsOfDoublesAreTheReferences) {
  expect_text_conforms(R"(graph g {
      %x : f64[5,33] = input "x"
      %y = reduce_sum %x {axes=[0]}
      %z = reduce_sum %x {axes=[1]}
      return %y as "y", %z as "z"
    })",
                       {}, {}, "running reduce_sum; running reduce_sum; ");
}

}  // namespace
}  // namespace hone::test
