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

TEST(TextReport, BreaksProseBesideItsRow) {
  const Table table{.key = "t",
                    .columns = {{.key = "step", .title = "step"},
                                {.key = "why", .title = "why", .prose = true},
                                {.key = "ms", .title = "time"}},
                    .rows = {{"first", "aaaa bbbb cccc dddd eeee ffff gggg hhhh iiii jjjj", number(1)},
                             {"second", "short", number(2)}}};
  EXPECT_EQ(text(table, {.width = 60}),
            "step    why                                             time\n"
            "------------------------------------------------------------\n"
            "first   aaaa bbbb cccc dddd eeee ffff gggg hhhh iiii    1.00\n"
            "        jjjj\n"
            "second  short                                           2.00\n");
}

TEST(TextReport, ProseOfAnyLengthEnds) {
  std::string words;
  for (int i = 0; i < 200; ++i) words += i % 50 == 0 ? std::string(150, 'x') + " " : "word ";
  const Table table{.columns = {{.title = "step"}, {.title = "why", .prose = true}},
                    .rows = {{"a", words}, {"b", ""}, {"c", Cell()}}};
  const std::string shown = text(table);
  size_t count = 0;
  for (size_t at = 0; (at = shown.find("word", at)) != std::string::npos; ++at) ++count;
  EXPECT_EQ(count, 196u);
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
