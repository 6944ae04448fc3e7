#include "report/json.h"

#include <gtest/gtest.h>

#include "tests/report/sample.h"

namespace hone {
namespace {

TEST(JsonReport, TablesAreArraysOfObjectsUnderTheirKey) {
  const Json json = to_json(sample_record());
  const Json& row = json["results"][1];
  EXPECT_EQ(row["model"], "mxint8");
  EXPECT_EQ(row["median_ms"], 14.1);
  EXPECT_EQ(row["ci95_ms"], Json::parse("[14, 14.3]"));
  EXPECT_EQ(row["bytes"].dump(), "23400000");
  EXPECT_TRUE(json["results"][0]["verdict"].is_null());
}

TEST(JsonReport, CarriesEverythingElse) {
  const Json json = to_json(sample_record());
  EXPECT_EQ(json["schema"], "hone-record-1");
  EXPECT_EQ(json["totals"]["bits"], 8.25);
  EXPECT_EQ(json["size_accuracy"][0]["y_ci95"], Json::parse("[80.1, 82.2]"));
  EXPECT_EQ(json["loss"][0]["points"][2], Json::parse("[2, 1.5]"));
  EXPECT_EQ(json["sqnr"].size(), 103u);
  EXPECT_EQ(json["machine"]["CPU"], "A & B");
  EXPECT_EQ(json["manifest"][0]["bytes"], 90'900'000);
}

TEST(JsonReport, NotANumberIsNullAndTheTextParses) {
  Record record = sample_record();
  std::get<Table>(record.sections[0].blocks[1]).rows[0][1] = number(std::nan(""));
  record.title = "broken \xff text";
  const Json json = parse_json(json_text(record), "report");
  EXPECT_TRUE(json["results"][0]["median_ms"].is_null());
  EXPECT_EQ(json["title"], "broken \xef\xbf\xbd text");
}

}  // namespace
}  // namespace hone
