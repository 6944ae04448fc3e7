#include "labs/said_numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Table widths() {
  return {
      .key = "widths",
      .columns = {{"how", "how"},
                  {.key = "width", .title = "width", .style = {NumberFormat::integer, 0}},
                  {.key = "accuracy", .title = "accuracy", .style = {NumberFormat::percent, 1}}},
      .rows = {{"rounded", number(8), number(0.75, {0.7, 0.8})}, {"trained", number(8), number(0.84, {0.81, 0.9})}}};
}

TEST(SaidNumbers, AreTheCellsAsTheTableShowsThem) {
  EXPECT_EQ(said(widths(), {"rounded", "8"}, "accuracy"), "75.0 %");
  EXPECT_EQ(value_of(widths(), {"trained"}, "accuracy"), 0.84);
}

TEST(SaidNumbers, ARowLiesAboveAnotherOnlyWhereTheirIntervalsAreApart) {
  Table table = widths();
  EXPECT_EQ(relation(table, {"trained"}, {"rounded"}, "accuracy"), "lies above");
  EXPECT_EQ(relation(table, {"rounded"}, {"trained"}, "accuracy"), "lies below");
  table.rows[1][2] = number(0.84, {0.79, 0.9});
  EXPECT_EQ(relation(table, {"trained"}, {"rounded"}, "accuracy"), "is not shown to differ from");
}

TEST(SaidNumbers, OthersThanTheTablesAreFound) {
  const std::vector<Section> shown{{"", {widths()}}};
  EXPECT_THAT(numbers_not_in_tables({"At 8 bits, 84.0 % are right, and 75.0 % before."}, shown), IsEmpty());
  EXPECT_THAT(numbers_not_in_tables({"At 8 bits, 84.1 % are right in int8.f4."}, shown),
              ElementsAre("84.1", "int8.f4"));
  EXPECT_THAT(numbers_not_in_tables({"84.0 % are right."}, {}), ElementsAre("84.0"));
}

}  // namespace
}  // namespace hone
