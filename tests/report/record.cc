#include "report/record.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "report/number_text.h"
#include "tests/report/sample.h"

namespace hone {
namespace {

TEST(Record, TheSampleIsWellFormed) { EXPECT_NO_THROW(check(sample_record())); }

TEST(Record, FindsBlocksByKeyAndType) {
  const Record record = sample_record();
  ASSERT_TRUE(find_block<Table>(record, "results"));
  EXPECT_EQ(find_block<Table>(record, "results")->rows.size(), 2u);
  EXPECT_FALSE(find_block<BarChart>(record, "results"));
  EXPECT_FALSE(find_block<Table>(record, "sqnr"));
}

TEST(Record, ARowOfTheWrongLengthIsABug) {
  Record record = sample_record();
  std::get<Table>(record.sections[0].blocks[1]).rows[0].pop_back();
  EXPECT_THROW(check(record), Bug);
}

TEST(Record, AKeyUsedTwiceOrReservedIsABug) {
  Record record = sample_record();
  record.sections.push_back({"Again", {sample_table()}});
  EXPECT_THROW(check(record), Bug);
  std::get<Table>(record.sections[1].blocks[0]).key = "machine";
  EXPECT_THROW(check(record), Bug);
}

TEST(Record, ALogarithmicAxisNeedsPositiveValues) {
  Record record = sample_record();
  std::get<ScatterPlot>(record.sections[0].blocks[3]).points[0].x = 0;
  EXPECT_THROW(check(record), Bug);
}

TEST(NumberText, FollowsItsStyle) {
  EXPECT_EQ(number_text(35.512, {}), "35.5");
  EXPECT_EQ(number_text(9.996, {}), "10.0");
  EXPECT_EQ(number_text(0.0012345, {}), "0.00123");
  EXPECT_EQ(number_text(1.5e-7, {}), "1.50e-07");
  EXPECT_EQ(number_text(123456, {}), "123,456");
  EXPECT_EQ(number_text(0, {}), "0");
  EXPECT_EQ(number_text(1.0, {NumberFormat::fixed, 6}), "1.000000");
  EXPECT_EQ(number_text(22713216, {NumberFormat::integer}), "22,713,216");
  EXPECT_EQ(number_text(-1234, {NumberFormat::integer}), "-1,234");
  EXPECT_EQ(number_text(999, {NumberFormat::integer}), "999");
  EXPECT_EQ(number_text(90.9e6, {NumberFormat::bytes}), "90.9 MB");
  EXPECT_EQ(number_text(0.2641, {NumberFormat::percent, 1}), "26.4 %");
  EXPECT_EQ(number_text(std::nan(""), {}), "n/a");
  EXPECT_EQ(number_text(std::numeric_limits<double>::infinity(), {}), "infinite");
}

TEST(NumberText, CellsShowIntervalsAndAbsence) {
  EXPECT_EQ(cell_text(number(1.5, {1.25, 1.75}), {}), "1.50 (1.25-1.75)");
  EXPECT_EQ(cell_text(Cell{}, {}), "-");
  EXPECT_EQ(cell_text("text", {}), "text");
}

}  // namespace
}  // namespace hone
