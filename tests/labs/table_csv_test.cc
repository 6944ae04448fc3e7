#include "labs/table_csv.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(TableCsv, KeepsAllDigitsQuotesTextsAndHasIntervalsBesideTheirFigures) {
  const Table table{.key = "t",
                    .columns = {{"name", "name"}, {"accuracy", "accuracy"}, {"bytes", "bytes"}},
                    .rows = {{"a, \"b\"", number(0.1, {0.05, 0.2}), number(12)}, {"c", number(1.0 / 3), Cell()}}};
  EXPECT_EQ(csv_of(table),
            "name,accuracy,accuracy_low,accuracy_high,bytes\n"
            "\"a, \"\"b\"\"\",0.1,0.05,0.2,12\n"
            "c,0.3333333333333333,,,\n");
}

}  // namespace
}  // namespace hone
