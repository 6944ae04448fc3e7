// Data sets as their users see them: what splits, joined files and options do, whichever reader reads.
#include "data/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "data/append_rows.h"
#include "data/class_table.h"
#include "data/reader.h"
#include "data/registry.h"
#include "data/splits.h"
#include "tests/io/temporary_folder.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAreArray;
using Rows = std::vector<int64_t>;

Dataset rows_of_groups(const Rows& groups) {
  Dataset data;
  data.path = "d";
  data.rows = std::ssize(groups);
  data.groups = groups;
  return data;
}

TEST(Permutation, HoldsEachRowOnceAndDependsOnSeedAndEpochAlone) {
  Rows all(100);
  std::iota(all.begin(), all.end(), 0);
  const Rows first = permutation(100, 1, 0);
  EXPECT_THAT(first, UnorderedElementsAreArray(all));
  EXPECT_EQ(first, permutation(100, 1, 0));
  EXPECT_NE(first, permutation(100, 1, 1));
  EXPECT_NE(first, permutation(100, 2, 0));
  EXPECT_TRUE(permutation(0, 1, 1).empty());
}

TEST(Permutation, IsAsOftenEachOfThoseOfThreeRows) {
  std::map<Rows, int> seen;
  for (uint64_t epoch = 0; epoch < 6000; ++epoch) ++seen[permutation(3, 7, epoch)];
  ASSERT_EQ(seen.size(), 6u);
  for (const auto& [order, count] : seen) EXPECT_NEAR(count, 1000, 5 * std::sqrt(1000)) << "five standard deviations";
}

TEST(SplitOff, TakesTheShareOfRowsAndLeavesTheRest) {
  Dataset data = rows_of_groups({});
  data.rows = 10;
  split_off(data, "test", 0.3, 1);
  Rows both = data.split("train");
  EXPECT_EQ(both.size(), 7u);
  EXPECT_EQ(data.split("test").size(), 3u);
  both.insert(both.end(), data.split("test").begin(), data.split("test").end());
  EXPECT_THAT(both, UnorderedElementsAreArray({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  Dataset again = rows_of_groups({});
  again.rows = 10;
  split_off(again, "test", 0.3, 1);
  EXPECT_EQ(again.split("test"), data.split("test"));
}

TEST(SplitOff, KeepsEachGroupInOneSplit) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Dataset data = rows_of_groups({0, 1, 2, 0, 1, 3, 0, 4, 4, 5});
    split_off(data, "test", 0.4, seed);
    std::set<int64_t> trained;
    for (int64_t row : data.split("train")) trained.insert(data.groups[static_cast<size_t>(row)]);
    for (int64_t row : data.split("test")) EXPECT_FALSE(trained.contains(data.groups[static_cast<size_t>(row)]));
    EXPECT_LE(data.split("test").size(), 4u);
    EXPECT_GE(data.split("test").size(), 2u) << "less than the largest group is missing";
  }
}

TEST(SplitOff, SaysWhatCannotBeSplit) {
  Dataset data = rows_of_groups({0, 0, 0, 0});
  EXPECT_EQ(error_of([&] { split_off(data, "test", 0.5, 1); }),
            "d: 0.5 of 4 rows in 1 groups leaves 0 for test and 4 for train; give another share");
  EXPECT_EQ(error_of([&] { split_off(data, "test", 1.5, 1); }),
            "the share of rows for test is 1.5; accepted: between 0 and 1");
  EXPECT_THAT(error_of([&] { split_off(data, "train", 0.5, 1); }), HasSubstr("has a split \"train\" already"));
}

TEST(ClassTable, SortsWhatItMeetsByValueOrNameAndKeepsTheOrderOfWhatIsKnown) {
  const auto names = [](std::vector<std::string> met) {
    ClassTable table;
    for (const std::string& name : met) table.id(name);
    return table.names();
  };
  EXPECT_THAT(names({"10", "9", "-1"}), ElementsAre("-1", "9", "10"));
  EXPECT_THAT(names({"b", "10", "9"}), ElementsAre("10", "9", "b"));
  const std::vector<std::string> known{"pos", "neg"};
  ClassTable table(known);
  EXPECT_EQ(table.id("neg"), 1);
  EXPECT_EQ(table.id("neutral"), kIgnoredLabel);
  EXPECT_EQ(table.names(), known);
  EXPECT_EQ(error_of([] { ClassTable({{"a", "a"}}); }), "classes: \"a\" is given twice");
}

TEST(ReadDataset, FindsTheReaderByThePathAndElseListsThem) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_dataset(folder.put("a.csv", "text,label\nfine,1\n")).rows, 1);
  EXPECT_EQ(read_dataset(folder.put("a.dat", "text,label\nfine,1\n"), {.format = "csv"}).rows, 1);
  std::string listed = error_of([&] { read_dataset(folder / "a.dat"); });
  EXPECT_THAT(listed, HasSubstr("a.dat: no reader recognises it; name one with --format"));
  for (const ReaderDef* reader : data::all())
    EXPECT_THAT(listed, AllOf(HasSubstr(reader->name), HasSubstr(reader->doc)));
  EXPECT_THAT(error_of([&] { read_dataset(folder / "a.csv", {.format = "jsnl"}); }), HasSubstr("Did you mean jsonl"));
  EXPECT_THAT(error_of([&] { read_dataset(folder / "b.csv"); }), HasSubstr("there is no such file or folder"));
}

TEST(ReadDataset, RefusesOptionsThatTheReaderDoesNotTake) {
  const TemporaryFolder folder;
  const std::string path = folder.put("a.jsonl", "{\"text\": \"fine\"}\n");
  EXPECT_THAT(error_of([&] { read_dataset(path, {.no_header = true}); }),
              HasSubstr("option no-header means nothing for data of format jsonl, which takes text, text2"));
}

TEST(ReadDataset, OptionsOfEveryReaderAreInTheTable) {
  for (const ReaderDef* reader : data::all())
    for (const char* option : reader->options)
      EXPECT_TRUE(std::ranges::any_of(DataOptions::fields(),
                                      [&](const auto& field) { return std::string_view(field.name) == option; }))
          << reader->name << " " << option;
}

TEST(ReadDataset, FurtherFilesAreSplitsOfOneDataSetWithTheSameClasses) {
  const TemporaryFolder folder;
  const Dataset data = read_dataset(folder.put("train.csv", "text,label\na,yes\nb,no\n"),
                                    {.validation_file = folder.put("v.csv", "text,label\nc,maybe\nd,yes\n")});
  EXPECT_EQ(data.split("train"), (Rows{0, 1}));
  EXPECT_EQ(data.split("validation"), (Rows{2, 3}));
  const auto& labels = std::get<ClassLabels>(data.labels);
  EXPECT_THAT(labels.names, ElementsAre("maybe", "no", "yes"));
  EXPECT_THAT(labels.ids, ElementsAre(2, 1, 0, 2));
  EXPECT_EQ(data.where(1), folder / "train.csv:3");
  EXPECT_EQ(data.where(2), folder / "v.csv:2");
}

TEST(ReadDataset, FurtherFilesMustHaveTheSameColumns) {
  const TemporaryFolder folder;
  const std::string train = folder.put("train.csv", "text,label\na,yes\n");
  const auto with = [&](std::string_view text) {
    return error_of([&] { read_dataset(train, {.test_file = folder.put("t.csv", text)}); });
  };
  EXPECT_THAT(with("text,score\nb,1\n"), HasSubstr("its labels are numbers, and those of"));
  EXPECT_THAT(with("text,text2,label\nb,c,no\n"), HasSubstr("has second texts, and"));
  EXPECT_THAT(with("text,label,split\nb,no,test\n"), HasSubstr("states splits of its own (test)"));
  EXPECT_THAT(with("text,label\n"), HasSubstr("t.csv: has no rows"));
}

TEST(ReadDataset, FractionsAreOfAllRows) {
  const TemporaryFolder folder;
  std::string text = "text,label\n";
  for (int i = 0; i < 100; ++i) text += fmt::format("t{},{}\n", i, i % 2);
  const Dataset data =
      read_dataset(folder.put("a.csv", text), {.validation_fraction = 0.2, .test_fraction = 0.1, .split_seed = 5});
  EXPECT_EQ(data.split("train").size(), 70u);
  EXPECT_EQ(data.split("validation").size(), 20u);
  EXPECT_EQ(data.split("test").size(), 10u);
}

TEST(Split, AnUnknownOneListsThoseThereAre) {
  Dataset data;
  data.path = "d";
  EXPECT_THAT(error_of([&] { data.split("test"); }), HasSubstr("d: has no split \"test\": all its rows are one"));
  data.splits = {{"train", {0}}, {"validation", {1}}};
  EXPECT_EQ(error_of([&] { data.split("validations"); }),
            "d: has no split \"validations\"; it has train, validation. Did you mean validation?");
}

TEST(AppendRows, ArraysAndImagesFollowEachOther) {
  const auto part = [](float value, uint8_t pixel) {
    Dataset data;
    data.path = "p";
    data.rows = 1;
    data.arrays = {{"x", Tensor::of<float>({1, 2}, {value, value})}};
    data.images = {1, [=](int64_t) { return Tensor::of<uint8_t>({1, 1, 1}, {pixel}); }};
    return data;
  };
  Dataset data = part(1, 10);
  append_rows(data, part(2, 20));
  EXPECT_EQ(data.arrays[0].tensor.to_floats(), (std::vector<float>{1, 1, 2, 2}));
  EXPECT_EQ(data.images.read(0).to_integers(), Rows{10});
  EXPECT_EQ(data.images.read(1).to_integers(), Rows{20});
  Dataset other = part(3, 30);
  other.arrays[0].tensor = Tensor::of<float>({1, 1}, {3});
  EXPECT_EQ(error_of([&] { append_rows(data, other); }), "p: array \"x\" is f32[1,1], and f32[2,2] before");
}

}  // namespace
}  // namespace hone
