// Rows appended to paged sequences from run to run: what is read back, growth without new code, truncation, sharing.
#include <gtest/gtest.h>

#include "runtime/page_table.h"
#include "runtime/session.h"
#include "tests/passes/parse_ops.h"
#include "tests/support/error_of.h"

namespace hone::test {
namespace {

// Appends S rows to each of B sequences and reads all pages of each sequence back.
std::string cache_of(const char* type, const char* packing) {
  return fmt::format(R"(graph cache {{
    %rows : f32[B,S,32] = input "rows"
    %kv : {0}[P,4,32] = state "kv"
    %table : i64[B,T] = state "table"
    %lengths : i64[B] = state "lengths"
    {1}
    %kv2 = cache_append %kv, %new, %table, %lengths
    %shape = shape_of %rows
    %s = slice %shape {{starts=[1], ends=[2], axes=[0]}}
    %lengths2 = add %lengths, %s
    %read = gather %kv2, %table
    update %kv = %kv2
    update %lengths = %lengths2
    return %read as "read"
  }})",
                     type, packing);
}
const std::string kPlain = cache_of("f32", "%new = relu %rows"),
                  kPacked = cache_of("mxint8", "%new = quantize %rows {format=mxint8}");

Tensor rows_of(int64_t sequences, int64_t count, float first) {
  std::vector<float> values(static_cast<size_t>(sequences * count * 32));
  for (size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<float>(i / 32);
  return Tensor::of<float>({sequences, count, 32}, values);
}

// The first element of row `row` of a sequence.
float at(const Tensor& read, int64_t sequence, int64_t row) {  // read [B,T,4,32]
  return read.as<float>()[static_cast<size_t>((sequence * read.dim(1) * 4 + row) * 32)];
}

TEST(PagedRows, AreReadBackAndGrowWithoutNewCode) {
  for (const std::string& text : {kPlain, kPacked})
    for (int level : {0, 2}) {
      SCOPED_TRACE(text + std::to_string(level));
      SessionOptions options;
      options.optimise = level, options.cache_folder = "";
      Session session(parse(text), options);
      Context context;
      PageTable pages(session.graph(), context, {.pages = {"kv"}}, 2);
      int compiled = -1;
      Tensor read;
      for (int step = 0; step < 40; ++step) {
        pages.reserve(1);
        read = session.run(context, {{"rows", rows_of(2, 1, static_cast<float>(2 * step))}})[0];
        if (step == 1) compiled = session.statistics().kernels_compiled;
      }
      EXPECT_EQ(session.statistics().kernels_compiled, compiled) << "more pages need no new code";
      EXPECT_EQ(pages.lengths(), (std::vector<int64_t>{40, 40}));
      for (int step = 0; step < 40; ++step)
        for (int64_t b : {0, 1}) EXPECT_EQ(at(read, b, step), static_cast<float>(2 * step + b)) << step;
    }
}

TEST(PagedRows, ATruncatedSequenceGoesOnFromThereAndGivesItsPagesBack) {
  Session session(parse(kPlain), {});
  Context context;
  PageTable pages(session.graph(), context, {.pages = {"kv"}}, 2);
  pages.reserve(9);
  session.run(context, {{"rows", rows_of(2, 9, 1)}});
  EXPECT_EQ(pages.free_pages(), pages.pages() - 6);
  pages.truncate(0, 3);
  EXPECT_EQ(pages.lengths(), (std::vector<int64_t>{3, 9}));
  EXPECT_EQ(pages.free_pages(), pages.pages() - 4);
  pages.reserve(2);
  const Tensor read = session.run(context, {{"rows", rows_of(2, 2, 100)}})[0];
  EXPECT_EQ(at(read, 0, 2), 3.0f);
  EXPECT_EQ(at(read, 0, 3), 100.0f);
  EXPECT_EQ(at(read, 0, 4), 101.0f);
  EXPECT_EQ(at(read, 1, 8), 18.0f);
  EXPECT_EQ(at(read, 1, 9), 102.0f);
}

TEST(PagedRows, PastTheCapacityAreRefusedAndChangeNothing) {
  for (int level : {0, 2}) {
    SessionOptions options;
    options.optimise = level;
    Session session(parse(kPlain), options);
    Context context;
    PageTable pages(session.graph(), context, {.pages = {"kv"}}, 1);
    pages.reserve(4);
    session.run(context, {{"rows", rows_of(1, 4, 1)}});
    const std::string error = error_of([&] { session.run(context, {{"rows", rows_of(1, 1, 9)}}); });
    EXPECT_NE(error.find("grow the page table first"), std::string::npos) << error;
    EXPECT_EQ(pages.lengths(), std::vector<int64_t>{4});
    EXPECT_EQ(context.state("kv").as<float>()[0], 1.0f);
    pages.reserve(1);
    const Tensor read = session.run(context, {{"rows", rows_of(1, 1, 9)}})[0];
    EXPECT_EQ(at(read, 0, 4), 9.0f);
    EXPECT_EQ(at(read, 0, 3), 4.0f);
  }
}

TEST(PagedRows, WhoeverHoldsTheStateKeepsWhatItWas) {
  Session session(parse(kPlain), {});
  Context context;
  PageTable pages(session.graph(), context, {.pages = {"kv"}}, 1);
  pages.reserve(8);
  session.run(context, {{"rows", rows_of(1, 1, 1)}});
  const Tensor before = context.state("kv");
  session.run(context, {{"rows", rows_of(1, 1, 5)}});
  EXPECT_EQ(before.as<float>()[32], 0.0f);
  EXPECT_EQ(context.state("kv").as<float>()[32], 5.0f);
}

// Rows are written where the pages lie, unless something that may fail comes after.
TEST(PagedRows, AreWrittenInPlace) {
  std::string checked = kPlain;
  checked.replace(checked.find("gather %kv2, %table"), 19, "gather %kv2, %late");
  checked.insert(checked.find("%read ="), "%late = max %table, %least ");
  checked.insert(checked.find("%new ="), "%least : i64[] = const {-1} ");
  for (const bool in_place : {true, false}) {
    Session session(parse(in_place ? kPlain : checked), {});
    Context context;
    PageTable pages(session.graph(), context, {.pages = {"kv"}}, 1);
    pages.reserve(8);
    for (float first : {1.0f, 5.0f}) {
      const std::byte* before = context.state("kv").data().bytes().data();
      const Tensor read = session.run(context, {{"rows", rows_of(1, 1, first)}})[0];
      EXPECT_EQ(context.state("kv").data().bytes().data() == before, in_place);
      EXPECT_EQ(at(read, 0, first == 1 ? 0 : 1), first);
    }
  }
}

TEST(PageTable, RefusesStatesThatAreNoPages) {
  Context context;
  const Graph graph = parse(kPlain);
  const auto error = [&](const PagedStates& names, int64_t sequences) {
    return error_of([&] { PageTable(graph, context, names, sequences); });
  };
  EXPECT_NE(error({.pages = {"kw"}}, 1).find("no state \"kw\""), std::string::npos);
  EXPECT_NE(error({.pages = {"lengths"}}, 1).find("accepted: [P,R,...]"), std::string::npos);
  EXPECT_NE(error({.pages = {"kv"}, .table = "kv"}, 1).find("i64 of rank 2"), std::string::npos);
  EXPECT_NE(error({.pages = {}}, 1).find("at least one state"), std::string::npos);
  EXPECT_NE(error({.pages = {"kv"}}, 0).find("of 0 sequences"), std::string::npos);
  PageTable pages(graph, context, {.pages = {"kv"}}, 1);
  EXPECT_NE(error_of([&] { pages.truncate(0, 1); }).find("has 0 rows; it can't be cut to 1"), std::string::npos);
  EXPECT_NE(error_of([&] { pages.truncate(1, 0); }).find("sequence 1 of 1"), std::string::npos);
}

}  // namespace
}  // namespace hone::test
