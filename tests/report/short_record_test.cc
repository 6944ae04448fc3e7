#include "report/short_record.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace hone {
namespace {

Record of_rows(int count) {
  Table table{.key = "tensors", .title = "Tensors", .columns = {{"name", "tensor"}, {"sqnr_db", "SQNR", "dB"}}};
  for (int i = 0; i < count; ++i) table.rows.push_back({fmt::format("t{}", i), number(100 - i)});
  table.rows[0][1] = Cell();
  table.note = "2 more stay.";
  return {.title = "r", .sections = {{"Tensors", {table, Text{"after"}}}}};
}

const ShortTable kTensors[] = {{"tensors", "sqnr_db"}};

TEST(ShortRecord, KeepsTheRowsThatMatterAndSaysHowToSeeAll) {
  const Record record = shortened(of_rows(40), kTensors, "-v");
  const Table& table = *find_block<Table>(record, "tensors");
  ASSERT_EQ(table.rows.size(), kRowsShown);
  EXPECT_EQ(std::get<std::string>(table.rows[0][0]), "t39");
  EXPECT_EQ(std::get<std::string>(table.rows[9][0]), "t30");
  EXPECT_EQ(table.note, "10 of 40 rows, those of the least SQNR; -v shows all. 2 more stay.");
  EXPECT_EQ(record.sections[0].blocks.size(), 2u);
}

TEST(ShortRecord, LargestNumbersMayMatter) {
  const ShortTable largest[] = {{"tensors", "sqnr_db", true}};
  const Record record = shortened(of_rows(40), largest, "-v");
  const Table& table = *find_block<Table>(record, "tensors");
  EXPECT_EQ(std::get<std::string>(table.rows[0][0]), "t1");  // t0 has no number
  EXPECT_EQ(table.note, "10 of 40 rows, those of the largest SQNR; -v shows all. 2 more stay.");
}

TEST(ShortRecord, LeavesShortTablesAndOthersAsTheyAre) {
  const Record ten = shortened(of_rows(10), kTensors, "-v");
  EXPECT_EQ(std::get<std::string>(find_block<Table>(ten, "tensors")->rows[0][0]), "t0");
  const ShortTable other[] = {{"tensors", "no such column"}, {"no such table", "sqnr_db"}};
  EXPECT_EQ(find_block<Table>(shortened(of_rows(40), other, "-v"), "tensors")->rows.size(), 40u);
}

}  // namespace
}  // namespace hone
