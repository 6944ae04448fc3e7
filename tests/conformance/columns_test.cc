// Reductions over axes in front of others: what joins them, and how operands lie.
#include "tests/conformance/conform_text.h"

namespace hone::test {
namespace {

TEST(Columns, WhatFeedsASumIsComputedInItsPass) {
  for (const char* rows : {"3,5", "700,1", "40,30"})
    for (int columns : {1, 15, 16, 50}) {
      const std::string kind = columns == 1 ? "" : "columns mul+add+sub+where+reduce_sum";
      expect_text_conforms(fmt::format(R"(graph g {{
      %d : f32[{0},{1}] = input "d"
      %x : bf16[{0},{1}] = input "x"
      %mean : f32[{0},1] = input "mean"
      %scale : f32[{1}] = input "scale"
      %keep : i64[{0},{1}] = input "keep"
      %f = cast %x {{dtype=f32}}
      %m = mul %d, %scale
      %a = add %m, %f
      %s = sub %a, %mean
      %three : i64[] = const {{3}}
      %c = greater %keep, %three
      %w = where %c, %s, %d
      %y = reduce_sum %w {{axes=[0, 1], keepdims=0}}
      return %y as "y"
    }})",
                                       rows, columns),
                           {}, {}, kind.empty() ? "" : "reduce_sum");
    }
}

TEST(Columns, OperandsThatRepeat) {
  expect_text_conforms(R"(graph g {
      %d : f32[40,30,33] = input "d"
      %p : f32[30,33] = input "p"
      %q : f32[30,1] = input "q"
      %r : f32[] = input "r"
      %a = mul %d, %p
      %b = add %a, %q
      %c = mul %b, %r
      %y = reduce_max %c {axes=[0, 1]}
      return %y as "y"
    })",
                       {}, {}, "columns mul+add+mul+reduce_max");
}

TEST(Columns, ReductionsOfTheSameValuesShareAPass) {
  for (const char* shape : {"7,33", "900,70"})
    expect_text_conforms(fmt::format(R"(graph g {{
      %d : f32[{0}] = input "d"
      %x : f32[{0}] = input "x"
      %h = tanh %x
      %p = mul %d, %h
      %a = reduce_sum %d {{axes=[0]}}
      %b = reduce_mean %p {{axes=[0], keepdims=0}}
      %c = reduce_max %x {{axes=[0]}}
      return %a as "a", %b as "b", %c as "c"
    }})",
                                     shape),
                         {}, {}, "columns tanh+mul+reduce_sum+reduce_mean+reduce_max");
}

TEST(Columns, ReductionsOfOtherAxesOrSizesDoNot) {
  expect_text_conforms(R"(graph g {
      %d : f32[6,7,33] = input "d"
      %a = reduce_sum %d {axes=[0]}
      %b = reduce_sum %d {axes=[0, 1]}
      %c = reduce_sum %d {axes=[1]}
      return %a as "a", %b as "b", %c as "c"
    })",
                       {}, {}, "columns reduce_sum; columns reduce_sum; ");
}

// The second reads what the first makes.
TEST(Columns, AReductionThatNeedsAnotherRunsAfterIt) {
  expect_text_conforms(R"(graph g {
      %x : f32[50,33] = input "x"
      %m = reduce_mean %x {axes=[0]}
      %c = sub %x, %m
      %s = mul %c, %c
      %v = reduce_mean %s {axes=[0]}
      return %v as "v"
    })",
                       {}, {}, "columns sub+mul+reduce_mean");
}

TEST(Columns, SeveralAxesBehindAndNaNs) {
  expect_text_conforms(R"(graph g {
      %x : f32[5,40,7,9] = input "x"
      %r = log %x
      %y = reduce_min %r {axes=[1]}
      %z = reduce_sum %r {axes=[0, 1]}
      return %y as "y", %z as "z"
    })",
                       {}, {}, "columns");
}

// What gradients of a normalisation are made of: rows, and sums of columns of what they read and write.
TEST(Columns, SumsJoinARowKernel) {
  for (const char* rows : {"3,5", "700", "40,30"})
    for (int columns : {1, 15, 48, 130}) {
      const std::string axes = std::string(rows) == "700" ? "[0]" : "[0, 1]";
      expect_text_conforms(fmt::format(R"(graph g {{
      %x : f32[{0},{1}] = input "x"
      %d : f32[{0},{1}] = input "d"
      %w : f32[{1}] = const "w"
      %y = rms_norm %x, %w
      %z = mul %y, %d
      %a = reduce_sum %z {{axes={2}, keepdims=0}}
      %n = softmax %x
      %e = mul %n, %d
      %b = reduce_max %e {{axes={2}}}
      %f = exp %d
      %c = reduce_mean %f {{axes={2}, keepdims=0}}
      return %z as "z", %a as "a", %b as "b", %c as "c"
    }})",
                                       rows, columns, axes),
                           {}, {},
                           columns == 1 ? "" : "row rms_norm+mul+reduce_sum+softmax+mul+reduce_max+exp+reduce_mean");
    }
}

// layer_norm and its centred elements share sums; softmax keeps its elements.
TEST(Columns, RowOpsOfOneKernelShareReductions) {
  expect_text_conforms(R"(graph g {
      %x : f32[50,70] = input "x"
      %y = softmax %x
      %z = log_softmax %x
      %p = mul %z, %x
      %s = reduce_sum %p {axes=[0]}
      return %y as "y", %s as "s"
    })",
                       {}, {}, "row softmax+log_softmax+mul+reduce_sum");
}

// The norm in front of what feeds the sum does not take it in: the sum's other operand needs the norm's result.
TEST(Columns, ASumThatDependsOnARowKernelElsewhereStaysOut) {
  expect_text_conforms(R"(graph g {
      %x : f32[50,32] = input "x"
      %w : f32[32,32] = const "w"
      %y = softmax %x
      %h = linear %y, %w
      %n = rms_norm %x
      %p = mul %n, %h
      %s = reduce_sum %p {axes=[0]}
      return %s as "s"
    })");
}

// A row of one element in front of others is no row of theirs.
TEST(Columns, SumsOverAnAxisOfOneBesideOthers) {
  for (const char* one : {"[0]", "[1]", "[0, 1]"})
    for (const char* other : {"[2]", "[3]", "[2, 3]", "[0]", "[1, 2]"})
      for (const char* op : {"reduce_sum", "reduce_mean", "reduce_max"})
        expect_text_conforms(fmt::format(R"(graph g {{
      %x : f32[1,1,2,3] = input "x"
      %a = {0} %x {{axes={1}}}
      %b = reduce_sum %x {{axes={2}}}
      %p = mul %a, %x
      %c = reduce_mean %p {{axes={2}}}
      return %a as "a", %b as "b", %c as "c"
    }})",
                                         op, one, other));
}

// Variance along an axis of one, softmax with one query, and what lies beside a row of several axes by its first.
TEST(Columns, RowsOfSeveralAxesOrOfOne) {
  expect_text_conforms(R"(graph g {
      %x : f32[3,1,5] = input "x"
      %m = reduce_mean %x {axes=[1]}
      %d = sub %x, %m
      %q = mul %d, %d
      %n = reduce_mean %q {axes=[1]}
      %v = add %n, 1.0
      %s = softmax %x {axis=1}
      %t = reduce_sum %s {axes=[2]}
      return %v as "v", %t as "t"
    })");
  expect_text_conforms(R"(graph g {
      %x : f32[2,2,5] = input "x"
      %first : f32[2,1] = input "first"
      %p = mul %x, %first
      %all = reduce_sum %p {axes=[1, 2]}
      %s = softmax %x
      %sums = reduce_sum %s {axes=[1, 2]}
      return %all as "all", %sums as "sums"
    })");
}

// Softmax of columns, spelled out, in front of a norm of rows: the sums are read by what is computed from row to row.
TEST(Columns, SumsThatARowKernelReadsAreMadeBeforeIt) {
  for (const char* shape : {"14,4", "3,5,40"})
    expect_text_conforms(fmt::format(R"(graph g {{
      %x : f32[{0}] = input "x"
      %e = exp %x
      %s = reduce_sum %e {{axes=[0]}}
      %d = div %e, %s
      %y = layer_norm %d {{epsilon=0.01}}
      return %y as "y", %s as "s"
    }})",
                                     shape));
}

TEST(Columns, OpenRowsWithoutColumns) {
  const Graph graph = parse_graph(R"(graph g {
      %x : f32[N,0] = input "x"
      %s = softmax %x
      %y = reduce_sum %x {axes=[0]}
      %t = reduce_sum %s {axes=[0]}
      return %s as "s", %y as "y", %t as "t"
    })",
                                  op_context());
  expect_conforms(graph, {{"x", Tensor(DType::f32, {3, 0})}});
}

}  // namespace
}  // namespace hone::test
