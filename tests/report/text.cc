#include "report/text.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/report/sample.h"

namespace hone {
namespace {

TEST(TextReport, AlignsColumns) {
  EXPECT_EQ(text(sample_table()),
            "model        median (ms)     file  against f32\n"
            "-----------------------------------------------------------\n"
            "f32     25.5 (25.4-25.6)  90.9 MB  -\n"
            "mxint8  14.1 (14.0-14.3)  23.4 MB  1.81x faster (1.78-1.84)\n");
}

TEST(TextReport, CutsLongTextInTheMiddleSoThatLinesFit) {
  Table table = sample_table();
  table.rows[0][3] = std::string("encoder.") + std::string(200, 'x') + ".weight";
  for (const std::string& line : split(text(table), '\n')) EXPECT_LE(line.size(), 120u);
  EXPECT_NE(text(table).find("encoder.xxx"), std::string::npos);
  EXPECT_NE(text(table).find("xxx.weight"), std::string::npos);
  EXPECT_NE(text(table).find("25.5 (25.4-25.6)"), std::string::npos);
}

TEST(TextReport, NeverCutsTheNameOfARow) {
  Table table = sample_table();
  const std::string name = std::string(150, 'x');
  table.rows[0][0] = name;
  EXPECT_NE(text(table).find(name), std::string::npos);
}

TEST(TextReport, ShowsFewRowsSideBySide) {
  Table table = sample_table();
  table.across = true;
  EXPECT_EQ(text(table),
            "model                     f32                    mxint8\n"
            "-------------------------------------------------------\n"
            "median (ms)  25.5 (25.4-25.6)          14.1 (14.0-14.3)\n"
            "file                  90.9 MB                   23.4 MB\n"
            "against f32                 -  1.81x faster (1.78-1.84)\n");
}

TEST(TextReport, CountsCharactersNotBytes) {
  Table table = sample_table();
  table.rows[0][0] = "Größe";
  const std::vector<std::string> lines = split(text(table), '\n');
  EXPECT_EQ(lines[2].find("25.5") - 2, lines[3].find("14.1"));  // two characters of two bytes
}

TEST(TextReport, HasNoEscapeSequencesUnlessAsked) {
  EXPECT_EQ(text(sample_record()).find('\x1b'), std::string::npos);
  EXPECT_NE(text(sample_record(), {.styled = true}).find("\x1b[1mResults\x1b[0m"), std::string::npos);
}

TEST(TextReport, ShowsFindingsCommandMachineAndFiles) {
  const std::string report = text(sample_record());
  for (const char* part : {"$ hone squeeze model/ --to mxint8\n", "* File 3.88x smaller.\n", "bits per element  8.25\n",
                           "CPU  A & B\n", "[Graph: 12 nodes]\n", "Batch 1, one thread.\n"})
    EXPECT_NE(report.find(part), std::string::npos) << part;
  EXPECT_EQ(text(sample_record(), {.machine = false}).find("A & B"), std::string::npos);
}

TEST(TextReport, BreaksParagraphsAtTheWidth) {
  std::string words;
  for (int i = 0; i < 100; ++i) words += "word ";
  const Record record{.title = "t", .sections = {{"s", {Text{words}}}}};
  size_t longest = 0;
  for (const std::string& line : split(text(record, {.width = 60}), '\n')) longest = std::max(longest, line.size());
  EXPECT_EQ(longest, 59u);  // twelve words of four letters and eleven blanks
}

}  // namespace
}  // namespace hone
