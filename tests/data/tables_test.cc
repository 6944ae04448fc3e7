// CSV, TSV and JSON lines: what is a cell, what is a column, and what is said of damaged files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/memory_limit.h"
#include "data/readers/parse.h"
#include "data/text_lines.h"
#include "tests/support/error_of.h"

namespace hone {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

Dataset csv(std::string_view text, const DataOptions& options = {}) { return parse_csv(text, "a.csv", options); }
Dataset tsv(std::string_view text, const DataOptions& options = {}) { return parse_tsv(text, "a.tsv", options); }
Dataset jsonl(std::string_view text, const DataOptions& options = {}) { return parse_jsonl(text, "a.jsonl", options); }
std::string csv_error(std::string_view text, const DataOptions& options = {}) {
  return error_of([&] { csv(text, options); });
}

TEST(Csv, CellsInQuotesHoldCommasLineEndsAndQuotes) {
  const Dataset data = csv("text,label\r\n\"a, \"\"b\"\"\nc\",1\r\nplain \"quotes\",2\r\n\"\",3\n");
  EXPECT_THAT(data.texts, ElementsAre("a, \"b\"\nc", "plain \"quotes\"", ""));
  EXPECT_THAT(std::get<ClassLabels>(data.labels).ids, ElementsAre(0, 1, 2));
  EXPECT_EQ(data.where(0), "a.csv:2");
  EXPECT_EQ(data.where(1), "a.csv:4") << "the row before it takes two lines";
}

TEST(Csv, MarksEmptyLinesAndAMissingLastLineEndAreNoRows) {
  const Dataset data = csv("\xef\xbb\xbftext\n\na\r\n\r\n\"\"\nb");
  EXPECT_THAT(data.texts, ElementsAre("a", "", "b")) << "an empty cell in quotes is a row";
  EXPECT_EQ(data.labels.index(), 0u);
}

TEST(Csv, SaysWhatIsDamagedAndWhere) {
  EXPECT_EQ(csv_error("text,label\na,1\n\"b,2\n"), "a.csv:3: a cell in quotes does not end");
  EXPECT_EQ(csv_error("text,label\n\"a\"b,1\n"),
            "a.csv:2: something follows the closing quote of a cell; expected a comma or the end of the line");
  EXPECT_EQ(csv_error("text,label\na,1\nb\n"), "a.csv:3: 1 cells, but there are 2 columns: text, label");
  EXPECT_EQ(csv_error("text,text\n"), "a.csv: two columns are called \"text\"");
  EXPECT_EQ(csv_error(""), "a.csv: is empty; a line of column names is expected");
  EXPECT_THAT(csv_error(std::string_view("text\na\0b\n", 9)), HasSubstr("a.csv: a NUL at byte 6; not a text file"));
  EXPECT_THAT(csv_error("\xff\xfet\n"), HasSubstr("is UTF-16"));
  EXPECT_THAT(csv_error("text\n\"" + std::string(kMostLineBytes + 1, 'a') + "\"\n"),
              HasSubstr("a.csv:2: a row of more than 16777216 bytes"));
}

TEST(Csv, IsHeldAgainstTheMemoryLimit) {
  set_memory_limit(memory_charged() + 1000);
  const std::string error = csv_error("text\n" + std::string(600, 'a'));
  set_memory_limit(0);
  EXPECT_THAT(error, HasSubstr("a.csv: what it holds needs"));
}

TEST(Tsv, QuotesAreCharacters) {
  const Dataset data = tsv("sentence\tlabel\n\"a\tpos\nit's 5\"\tneg\r\n");
  EXPECT_THAT(data.texts, ElementsAre("\"a", "it's 5\""));
  EXPECT_THAT(std::get<ClassLabels>(data.labels).names, ElementsAre("neg", "pos"));
  EXPECT_EQ(data.label_column, "label");
}

TEST(Tsv, WithoutAHeaderColumnsAreNumbers) {
  const Dataset data =
      tsv("gj04\t1\t\tThe dog barks.\ngj04\t0\t*\tThe dog bark.\n", {.text = "4", .label = "2", .no_header = true});
  EXPECT_THAT(data.texts, ElementsAre("The dog barks.", "The dog bark."));
  EXPECT_THAT(std::get<ClassLabels>(data.labels).ids, ElementsAre(1, 0));
  EXPECT_EQ(data.where(1), "a.tsv:2");
  EXPECT_EQ(error_of([] { tsv("a\tb\n", {.text = "3", .no_header = true}); }),
            "a.tsv: has no column \"3\" (--text); its columns are 1, 2");
}

TEST(Tsv, RowsOfAnotherLengthAreNamed) {
  EXPECT_EQ(error_of([] { tsv("text\tlabel\na\t1\n\nb\t1\tx\n"); }),
            "a.tsv:4: 3 cells, but there are 2 columns: text, label");
}

TEST(Columns, AreFoundByTheNamesOfGlue) {
  EXPECT_THAT(tsv("index\tquestion\tsentence\tlabel\n0\tq\ts\tentailment\n").second_texts, ElementsAre("s"));
  const Dataset mrpc = tsv("\xef\xbb\xbfQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t7\t8\ta\tb\n");
  EXPECT_THAT(mrpc.texts, ElementsAre("a"));
  EXPECT_THAT(mrpc.second_texts, ElementsAre("b"));
  const Dataset stsb = tsv("sentence1\tsentence2\tscore\na\tb\t2.5\nc\td\t\n");
  EXPECT_EQ(std::get<Targets>(stsb.labels).values[0], 2.5f);
  EXPECT_TRUE(std::isnan(std::get<Targets>(stsb.labels).values[1]));
}

TEST(Columns, WrongOnesListThoseThereAre) {
  EXPECT_EQ(csv_error("body,stars\na,1\n"),
            "a.csv: no column is known to hold texts; its columns are body, stars. Name one: --text COLUMN");
  EXPECT_EQ(csv_error("text,stars\na,1\n", {.label = "star"}),
            "a.csv: has no column \"star\" (--label); its columns are text, stars. Did you mean stars?");
  EXPECT_THAT(csv_error("text,a,b\nx,1,2\n", {.label = "a", .target = "b"}), HasSubstr("more than one of --label"));
  EXPECT_THAT(csv_error("text,a\nx,1\n", {.tags = "a"}), HasSubstr("--tags needs the column of the words"));
}

TEST(Columns, NamingOneKindOfAnswerLooksForNoOther) {
  const Dataset data = csv("text,label,stars\na,pos,4\n", {.target = "stars"});
  EXPECT_EQ(std::get<Targets>(data.labels).values, std::vector<float>{4});
  EXPECT_THAT(csv("sentence1,sentence2\na,b\n", {.text = "sentence2"}).second_texts, IsEmpty());
}

TEST(Columns, ANumberThatIsNoneIsNamed) {
  EXPECT_EQ(csv_error("text,score\na,1\nb,2x\n"), "a.csv:3: column \"score\": \"2x\" is no finite number");
  EXPECT_THAT(csv_error("text,score\na,inf\n"), HasSubstr("\"inf\" is no finite number"));
}

TEST(Labels, WhatIsNoneOfTheGivenClassesIsKept) {
  const Dataset data = csv("text,label\na,pos\nb,other\nc,\nd,neg\n", {.classes = {"pos", "neg"}});
  const auto& labels = std::get<ClassLabels>(data.labels);
  EXPECT_THAT(labels.ids, ElementsAre(0, kIgnoredLabel, kIgnoredLabel, 1));
  EXPECT_THAT(labels.unknown, ElementsAre(Pair(1, "other"), Pair(2, "")));
  EXPECT_THAT(labels.names, ElementsAre("pos", "neg"));
}

TEST(Labels, SeveralInACellAreSortedAndCountOnce) {
  const Dataset data = csv("text,labels\na,x|y |x\nb,\nc,y\n", {.separator = "|"});
  const auto& labels = std::get<MultiLabels>(data.labels);
  EXPECT_THAT(labels.ids, ElementsAre(ElementsAre(0, 1), IsEmpty(), ElementsAre(1)));
  EXPECT_THAT(labels.names, ElementsAre("x", "y"));
}

TEST(Labels, OfWordsAreAsManyAsWords) {
  const Dataset data = csv("tokens,tags\nAnna lives here,B O O\n");
  EXPECT_THAT(data.words, ElementsAre(ElementsAre("Anna", "lives", "here")));
  EXPECT_THAT(std::get<TokenLabels>(data.labels).ids, ElementsAre(ElementsAre(0, 1, 1)));
  EXPECT_EQ(csv_error("tokens,tags\nAnna lives,B\n"), "a.csv:2: column \"tags\": 1 tags for 2 words");
}

TEST(Splits, AndGroupsComeFromTheirColumns) {
  const Dataset data = csv("text,split,group\na,train,x\nb,dev,y\nc,train,x\n");
  EXPECT_THAT(data.split("train"), ElementsAre(0, 2));
  EXPECT_THAT(data.split("validation"), ElementsAre(1));
  EXPECT_THAT(data.groups, ElementsAre(0, 1, 0));
  EXPECT_THAT(data.group_names, ElementsAre("x", "y"));
  EXPECT_THAT(csv_error("text,split\na,\n"), HasSubstr("a.csv:2: column \"split\": is empty"));
}

TEST(Jsonl, ListsAreWordsAndNumbersAreNames) {
  const Dataset data = jsonl(R"({"tokens": ["Anna", "runs"], "ner_tags": [3, 0]})"
                             "\n\n"
                             R"({"ner_tags": [0], "tokens": ["on"], "more": {}})"
                             "\n");
  EXPECT_THAT(data.words, ElementsAre(ElementsAre("Anna", "runs"), ElementsAre("on")));
  EXPECT_THAT(std::get<TokenLabels>(data.labels).ids, ElementsAre(ElementsAre(1, 0), ElementsAre(0)));
  EXPECT_THAT(std::get<TokenLabels>(data.labels).names, ElementsAre("0", "3"));
  EXPECT_EQ(data.where(1), "a.jsonl:3");
}

TEST(Jsonl, TextsLabelsAndNull) {
  const Dataset data = jsonl("{\"text\": \"a\\nb\", \"label\": 1, \"extra\": [1]}\n{\"text\": \"c\", \"label\": null}");
  EXPECT_THAT(data.texts, ElementsAre("a\nb", "c"));
  EXPECT_THAT(std::get<ClassLabels>(data.labels).ids, ElementsAre(0, kIgnoredLabel));
}

TEST(Jsonl, SaysWhatIsDamagedAndWhere) {
  const auto error = [](std::string_view text) { return error_of([&] { jsonl(text); }); };
  EXPECT_THAT(error("{\"text\": \"a\"}\n{\"text\": \"b\"\n"), HasSubstr("a.jsonl:2: not valid JSON"));
  EXPECT_EQ(error("{\"text\": \"a\"}\n{\"body\": \"b\"}\n"), "a.jsonl:2: has no \"text\", which the first line has");
  EXPECT_THAT(error("[1]\n"), HasSubstr("a.jsonl:1: holds [1]; an object is expected"));
  EXPECT_THAT(error("{\"text\": {\"a\": 1}}\n"), HasSubstr("a.jsonl:1: \"text\" holds {\"a\":1}"));
  EXPECT_EQ(error("{\"text\": [\"a\"]}\n"), "a.jsonl:1: column \"text\": a list; a text is expected");
  EXPECT_EQ(error("\n\n"), "a.jsonl: is empty; a JSON object a line is expected");
}

}  // namespace
}  // namespace hone
