// Graphs that suites of several devices run, and what sessions must give for them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/page_table.h"
#include "runtime/session.h"
#include "tests/passes/parse_ops.h"
#include "tests/support/error_of.h"

namespace hone::test {

// Rows whose numbers the graph computes, so that only the run can look at them.
inline constexpr const char* kComputedRows = R"(graph g {
  %i : i64[N] = input "i"
  %table : f32[3,2] = const "table" {1, 2, 3, 4, 5, 6}
  %j = add %i, %i
  %y = gather %table, %j
  return %y as "y"
})";
inline void expect_rows_are_looked_at(SessionOptions options) {
  Session session(parse(kComputedRows), std::move(options));
  const auto at = [](int64_t i) { return NamedTensors{{"i", Tensor::of<int64_t>({1}, {i})}}; };
  EXPECT_EQ(session.run(at(1))[0].to_floats(), (std::vector<float>{5, 6}));
  EXPECT_NE(error_of([&] { session.run(at(2)); }).find("element 0 is 4"), std::string::npos);
  EXPECT_EQ(session.run(at(0))[0].to_floats(), (std::vector<float>{1, 2}));
}

// Packed rows of a sequence that grows by one a run, in pages.
inline constexpr const char* kPagedRows = R"(graph cache {
  %rows : f32[B,S,32] = input "rows"
  %kv : mxint8[P,4,32] = state "kv"
  %table : i64[B,T] = state "table"
  %lengths : i64[B] = state "lengths"
  %one : i64[] = const {1}
  %new = quantize %rows {format=mxint8}
  %kv2 = cache_append %kv, %new, %table, %lengths
  %lengths2 = add %lengths, %one
  %read = gather %kv2, %table
  update %kv = %kv2
  update %lengths = %lengths2
  return %read as "read"
})";
inline void expect_rows_are_kept(SessionOptions options, const std::string& what) {
  Session session(parse(kPagedRows), std::move(options));
  Context context;
  PageTable pages(session.graph(), context, {.pages = {"kv"}}, 1);
  Tensor read;
  for (int i = 0; i < 9; ++i) {
    pages.reserve(1);
    read = session.run(context, {{"rows", Tensor::of<float>({1, 1, 32}, std::vector<float>(32, i))}})[0];
  }
  for (size_t i = 0; i < 9; ++i) EXPECT_EQ(read.as<float>()[i * 32], static_cast<float>(i)) << what;
}

// A recurrent layer as exporters of older frameworks spell it.
inline constexpr const char* kScan = R"(graph g {
  %h : f32[B,8] = input "h"
  %x : f32[T,B,8] = input "x"
  %w : f32[8,8] = const "w"
  %last, %all = scan %h, %x, %w {states=1, scans=1} do
    graph body {
      %before : f32[B,8] = input "before"
      %now : f32[B,8] = input "now"
      %k : f32[8,8] = input "k"
      %p = matmul %before, %k
      %s = add %p, %now
      %c = clip %s {min=-3, max=3}
      return %c as "0", %c as "1"
    }
  return %last as "last", %all as "all"
})";

}  // namespace hone::test
