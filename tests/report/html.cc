#include "report/html.h"

#include <gtest/gtest.h>

#include "tests/report/sample.h"
#include "tests/report/xml_check.h"

namespace hone {
namespace {

std::string without_style(std::string page) {
  const size_t begin = page.find("<style>");
  return page.erase(begin, page.find("</style>") + 8 - begin);
}

TEST(HtmlReport, IsWellFormed) { EXPECT_EQ(xml_fault(without_style(html(sample_record())), {"meta"}), ""); }

TEST(HtmlReport, LoadsNothingAndRunsNothing) {
  const std::string page = html(sample_record());
  for (const char* forbidden : {"<script", "<link", "<img", "src=", "href=", "@import", "url(", "onload"})
    EXPECT_EQ(page.find(forbidden), std::string::npos) << forbidden;
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
}

TEST(HtmlReport, EscapesWhatModelsAndUsersWrite) {
  const std::string attack = "</style><script>alert(1)</script>";
  Record record = sample_record();
  record.title = record.command = attack;
  record.findings = {attack};
  record.machine = {{attack, attack}};
  record.manifest = {{attack, attack, attack, 1}};
  Table& table = std::get<Table>(record.sections[0].blocks[1]);
  table.rows[0][0] = table.title = table.note = table.columns[0].title = attack;
  std::get<BarChart>(record.sections[0].blocks[5]).bars[0].label = attack;
  std::get<ScatterPlot>(record.sections[0].blocks[3]).points[0].label = attack;
  std::get<Drawing>(record.sections[0].blocks[6]).description = attack;
  const std::string page = html(record);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(xml_fault(without_style(page), {"meta"}), "");
}

TEST(HtmlReport, HasLabelsForScreenReadersAndNumbersWithIntervals) {
  const std::string page = html(sample_record());
  EXPECT_NE(page.find("<html lang=\"en\">"), std::string::npos);
  EXPECT_NE(page.find("aria-label=\"12 nodes\""), std::string::npos);
  EXPECT_NE(page.find("<th scope=\"row\">mxint8</th>"), std::string::npos);
  EXPECT_NE(page.find("14.1<span class=\"interval\" title=\"95 % interval\">14.0&ndash;14.3</span>"),
            std::string::npos);
  EXPECT_NE(page.find("<p>First.</p>\n<p>Second &lt;b&gt;.</p>"), std::string::npos);
}

TEST(HtmlReport, IsTheSameForTheSameRecord) { EXPECT_EQ(html(sample_record()), html(sample_record())); }

}  // namespace
}  // namespace hone
