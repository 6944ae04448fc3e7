// Rows appended to pages: where they go, of packed elements too, and what is refused.
#include <gtest/gtest.h>

#include "tests/ops/call.h"

namespace hone {
namespace {

// Three pages of two rows of one element; sequence 0 has pages 2 and 0, sequence 1 page 1.
const Tensor kPages = f32({3, 2, 1}, {0, 0, 0, 0, 0, 0}), kTable = i64({2, 2}, {2, 0, 1, -1});

TEST(CacheAppend, WritesEachSequenceBehindItsLastRow) {
  const Tensor rows = f32({2, 1, 1}, {5, 7});
  EXPECT_EQ(call("cache_append", {kPages, rows, kTable, i64({2}, {0, 1})}).to_floats(), (Floats{0, 0, 0, 7, 5, 0}));
  EXPECT_EQ(call("cache_append", {kPages, rows, kTable, i64({2}, {3, 0})}).to_floats(), (Floats{0, 5, 7, 0, 0, 0}));
}

TEST(CacheAppend, RowsGoOnInTheNextPage) {
  EXPECT_EQ(call("cache_append", {kPages, f32({1, 3, 1}, {1, 2, 3}), i64({1, 2}, {2, 0}), i64({1}, {1})}).to_floats(),
            (Floats{2, 3, 0, 0, 0, 1}));
}

TEST(CacheAppend, PackedRowsKeepTheirBits) {
  const Format format = parse_format("mxint4");
  std::vector<float> values(64);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 3;
  const Tensor rows = pack(format, f32({1, 2, 32}, values)), pages = pack(format, f32({2, 2, 32}, Floats(128)));
  const Tensor result = call("cache_append", {pages, rows, i64({1, 2}, {1, 0}), i64({1}, {1})});
  const std::vector<float> got = result.to_floats(), want = rows.to_floats();
  EXPECT_TRUE(std::equal(want.begin(), want.begin() + 32, got.begin() + 96));
  EXPECT_TRUE(std::equal(want.begin() + 32, want.end(), got.begin()));
  EXPECT_EQ(result.format(), format);
}

TEST(CacheAppend, RefusesRowsThatHaveNoPlace) {
  const auto error = [&](const Tensor& rows, const Tensor& table, const Tensor& lengths) {
    return error_of("cache_append", {kPages, rows, table, lengths});
  };
  const Tensor one = f32({2, 1, 1}, {5, 7});
  EXPECT_NE(error(one, kTable, i64({2}, {4, 0})).find("sequence 0 has 4 rows, and 1 more don't fit its 2 pages of 2"),
            std::string::npos);
  EXPECT_NE(error(one, kTable, i64({2}, {0, 2})).find("page 1 of sequence 1 is -1"), std::string::npos);
  EXPECT_NE(error(one, i64({2, 1}, {3, 0}), i64({2}, {0, 0})).find("is 3 in the page table; there are 3 pages"),
            std::string::npos);
  EXPECT_NE(error(one, kTable, i64({2}, {-1, 0})).find("a length of -1"), std::string::npos);
  EXPECT_NE(error(one, i64({2, 1}, {1, 1}), i64({2}, {1, 1})).find("sequences 0 and 1 both write row 1 of page 1"),
            std::string::npos);
  EXPECT_EQ(error(one, i64({2, 1}, {1, 1}), i64({2}, {0, 1})), "");
  EXPECT_NE(error(one, kTable, i64({2}, {INT64_MAX, 0})).find("don't fit"), std::string::npos);
  EXPECT_NE(error(one, kTable, i64({3}, {0, 0, 0})).find("number of lengths"), std::string::npos);
  EXPECT_NE(error(f32({2, 1, 2}, {1, 2, 3, 4}), kTable, i64({2}, {0, 0})).find("a dimension of a row"),
            std::string::npos);
  EXPECT_NE(error(i64({2, 1, 1}, {1, 2}), kTable, i64({2}, {0, 0})).find("element types must be equal"),
            std::string::npos);
}

TEST(CacheAppend, RefusesFormatsWhoseRowsShareScales) {
  for (const char* name : {"int8.tensor", "int8.channel", "nvfp4"}) {
    const Tensor pages = pack(parse_format(name), f32({2, 2, 32}, Floats(128, 1)));
    EXPECT_NE(error_of("cache_append", {pages, pages, i64({2, 1}, {0, 1}), i64({2}, {0, 0})}).find("rows share"),
              std::string::npos)
        << name;
  }
}

}  // namespace
}  // namespace hone
