// What is found in a data set before training: each kind of fault is planted once.
#include "data/dataset_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/keep_rows.h"
#include "data/reader.h"
#include "data/readers/parse.h"
#include "tests/io/temporary_folder.h"
#include "tests/io/write_image.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

Dataset csv(std::string_view text, const DataOptions& options = {}) { return parse_csv(text, "a.csv", options); }

TEST(DatasetFacts, NothingIsFoundInSoundData) {
  const DatasetFacts facts = check_dataset(csv("text,label,split\na,x,train\nb,y,train\nc,x,test\nd,y,test\n"));
  for (const Finding* finding : {&facts.empty, &facts.repeated, &facts.conflicting, &facts.leaking, &facts.cut,
                                 &facts.unlabelled, &facts.undecodable})
    EXPECT_EQ(finding->count, 0);
  EXPECT_THAT(facts.absent, IsEmpty());
  EXPECT_THAT(facts.unusable, IsEmpty());
  ASSERT_EQ(facts.splits.size(), 2u);
  EXPECT_THAT(facts.splits[0].of_class, ElementsAre(1, 1));
}

TEST(DatasetFacts, CountsAndNamesWhatIsPlanted) {
  const Dataset data =
      csv("text,label,split,group\n"
          "a,x,train,g\n"
          " ,y,train,h\n"      // empty
          "a,x,train,g\n"      // repeated
          "a,y,train,g\n"      // repeated, and labelled otherwise
          "c,other,train,h\n"  // no class
          "a,x,test,g\n"       // in both splits, and so is its group
          "d,x,test,i\n",
          {.classes = {"x", "y"}});
  const DatasetFacts facts = check_dataset(data);
  EXPECT_THAT(facts.empty.first, ElementsAre("a.csv:3"));
  EXPECT_THAT(facts.repeated.first, ElementsAre("a.csv:4 as a.csv:2", "a.csv:5 as a.csv:2"));
  EXPECT_THAT(facts.conflicting.first, ElementsAre("a.csv:5 as a.csv:2"));
  EXPECT_THAT(facts.leaking.first, ElementsAre("a.csv:7 as a.csv:2 (test, train)"));
  EXPECT_THAT(facts.leaking_groups, ElementsAre("g"));
  EXPECT_THAT(facts.unlabelled.first, ElementsAre("a.csv:6 (\"other\")"));
  EXPECT_THAT(facts.absent, ElementsAre(Pair("test", "y")));
  EXPECT_THAT(facts.splits[0].of_class, ElementsAre(2, 2));
  EXPECT_THAT(to_string(facts),
              AllOf(HasSubstr("7 rows, train 5, test 2; SHA-256 "), HasSubstr("train: x 2 y 2\ntest: x 2 y 0\n"),
                    HasSubstr("2 rows repeat one of their split: a.csv:4 as a.csv:2; a.csv:5 as a.csv:2\n"),
                    HasSubstr("1 groups are in several splits: g\n"), HasSubstr("class y has no rows in test\n")));
}

TEST(DatasetFacts, NamesTheFirstFewOnly) {
  std::string text = "text\n";
  for (int i = 0; i < 8; ++i) text += "same\n";
  const DatasetFacts facts = check_dataset(csv(text));
  EXPECT_EQ(facts.repeated.count, 7);
  EXPECT_EQ(facts.repeated.first.size(), 5u);
  EXPECT_THAT(to_string(facts), HasSubstr("a.csv:7 as a.csv:2; ...\n"));
}

TEST(DatasetFacts, TextsBeyondTheModelsLengthAreCounted) {
  const Dataset data = csv("text\na a a\na\n");
  const TokenRows tokens(data, Tokenizer::from_vocab("[UNK]\n[CLS]\n[SEP]\na\n", true, "v"), 4);
  EXPECT_THAT(check_dataset(data, &tokens).cut.first, ElementsAre("a.csv:2"));
}

TEST(DatasetFacts, TheDigestIsOfTheContentsAlone) {
  const auto digest = [](const Dataset& data) { return check_dataset(data).sha256; };
  const std::string base = digest(csv("text,label\na,x\nb,y\n"));
  EXPECT_EQ(base.size(), 64u);
  EXPECT_EQ(base, digest(parse_tsv("label\ttext\nx\ta\ny\tb\n", "b.tsv", {})));
  EXPECT_EQ(base, digest(csv("text,label\na,x\nb,y\n", {.classes = {"y", "x"}})));
  EXPECT_NE(base, digest(csv("text,label\na,x\nb,x\n")));
  EXPECT_NE(base, digest(csv("text,label\nb,y\na,x\n")));
  EXPECT_NE(digest(csv("text,text2\nab,c\n")), digest(csv("text,text2\na,bc\n")));
}

TEST(DatasetFacts, ImagesThatDoNotDecodeAreLeftOutWhenAskedFor) {
  const TemporaryFolder folder;
  folder.put("a/1.png", test::grey_png(1, 1, 1));
  folder.put("a/2.png", test::grey_png(1, 1, 2).substr(0, 40));
  folder.put("b/1.png", test::grey_png(1, 1, 3));
  const Dataset data = read_dataset(folder.path(), {.channels = 1});
  const DatasetFacts facts = check_dataset(data);
  EXPECT_EQ(facts.undecodable.count, 1);
  EXPECT_THAT(facts.undecodable.first[0], HasSubstr("a/2.png: not a valid PNG image"));
  EXPECT_THAT(error_of([&] { usable_rows(data, facts, false); }),
              AllOf(HasSubstr("1 of 3 rows can't be used: 1 images that do not decode"), HasSubstr("a/2.png"),
                    HasSubstr("--skip-bad goes on without them")));
  const Dataset kept = usable_rows(data, facts, true);
  EXPECT_EQ(kept.rows, 2);
  EXPECT_THAT(kept.images.read(1).to_integers(), ElementsAre(3));
  EXPECT_EQ(kept.where(1), folder / "b/1.png");
  EXPECT_THAT(std::get<ClassLabels>(kept.labels).ids, ElementsAre(0, 1));
}

TEST(DatasetFacts, SkippingEveryRowIsAnError) {
  const Dataset data = csv("text,score\na,\nb,\n");
  EXPECT_THAT(error_of([&] { usable_rows(data, check_dataset(data), true); }), HasSubstr("2 of 2 rows can't be used"));
}

TEST(KeepRows, KeepsEveryColumnAndSplit) {
  Dataset data =
      csv("text,text2,label,group,split\na,A,x,g,train\nb,B,?,h,test\nc,C,y,h,train\n", {.classes = {"x", "y"}});
  data.arrays = {{"n", Tensor::of<float>({3, 1}, {1, 2, 3})}};
  const Dataset kept = keep_rows(data, {false, true, true});
  EXPECT_THAT(kept.texts, ElementsAre("b", "c"));
  EXPECT_THAT(kept.second_texts, ElementsAre("B", "C"));
  EXPECT_THAT(std::get<ClassLabels>(kept.labels).ids, ElementsAre(kIgnoredLabel, 1));
  EXPECT_THAT(std::get<ClassLabels>(kept.labels).unknown, ElementsAre(Pair(0, "?")));
  EXPECT_EQ(kept.arrays[0].tensor.to_floats(), (std::vector<float>{2, 3}));
  EXPECT_THAT(kept.split("train"), ElementsAre(1));
  EXPECT_THAT(kept.split("test"), ElementsAre(0));
  EXPECT_EQ(kept.where(1), "a.csv:4");
}

}  // namespace
}  // namespace hone
