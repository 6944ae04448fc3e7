// From rows to tensors: which rows share a batch, what padding costs, what augmentation draws, and the thread that
// reads ahead.
#include "data/batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <set>

#include "base/stop.h"
#include "data/batch_reader.h"
#include "data/readers/parse.h"
#include "tests/support/error_of.h"

namespace hone {
namespace {

using test::error_of;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAreArray;
using Rows = std::vector<int64_t>;

Rows numbers(int64_t n) {
  Rows all(static_cast<size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Rows joined(const EpochPlan& plan) {
  Rows all;
  for (const Rows& batch : plan) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

TEST(EpochPlan, EveryRowIsInOneBatchAndEpochsDiffer) {
  const BatchOrder order{.batch = 4, .seed = 3};
  const EpochPlan plan = plan_epoch(numbers(10), order, 0);
  EXPECT_THAT(joined(plan), UnorderedElementsAreArray(numbers(10)));
  ASSERT_EQ(plan.size(), 3u);
  EXPECT_EQ(plan[2].size(), 2u);
  EXPECT_EQ(plan, plan_epoch(numbers(10), order, 0));
  EXPECT_NE(plan, plan_epoch(numbers(10), order, 1));
  EXPECT_EQ(plan_epoch(numbers(10), {.batch = 4, .drop_last = true}, 0).size(), 2u);
  EXPECT_EQ(joined(plan_epoch(numbers(10), {.batch = 4, .shuffle = false}, 5)), numbers(10));
}

TEST(EpochPlan, SaysWhatMakesNoBatches) {
  EXPECT_EQ(error_of([] { plan_epoch(numbers(3), {.batch = 0}, 0); }), "a batch of 0 rows; at least 1 is needed");
  EXPECT_EQ(error_of([] { plan_epoch(numbers(3), {.batch = 4, .drop_last = true}, 0); }),
            "a batch of 4 rows, but there are 3; give a smaller one");
}

TEST(EpochPlan, PaddingOfAWindowIsAtMostABatchOfTheSpreadOfLengths) {
  constexpr int64_t kRows = 1000, kBatch = 8, kWindow = 25;
  const auto length = [](int64_t row) { return 1 + row * 7919 % 97; };
  const auto padding = [&](const EpochPlan& plan) {
    int64_t sum = 0;
    for (const Rows& batch : plan) {
      int64_t longest = 0;
      for (int64_t row : batch) longest = std::max(longest, length(row));
      for (int64_t row : batch) sum += longest - length(row);
    }
    return sum;
  };
  const EpochPlan sorted = plan_epoch(numbers(kRows), {.batch = kBatch, .seed = 1, .window = kWindow}, 0, length);
  EXPECT_THAT(joined(sorted), UnorderedElementsAreArray(numbers(kRows)));
  EXPECT_LE(padding(sorted), kRows / (kBatch * kWindow) * kBatch * 96);
  EXPECT_GT(padding(plan_epoch(numbers(kRows), {.batch = kBatch, .seed = 1}, 0)), 5 * padding(sorted));
  std::vector<int64_t> longest;
  for (const Rows& batch : sorted) longest.push_back(length(batch.back()));
  EXPECT_FALSE(std::is_sorted(longest.begin(), longest.begin() + kWindow)) << "short ones are not always first";
}

// [UNK] 0, [CLS] 1, [SEP] 2, [PAD] 3, a 4, b 5, ##b 6.
Tokenizer tokenizer() { return Tokenizer::from_vocab("[UNK]\n[CLS]\n[SEP]\n[PAD]\na\nb\n##b\n", true, "vocab.txt"); }

TEST(TextBatches, ArePaddedWithAMaskAndTypes) {
  const Dataset data = parse_csv("text,text2,label\na,b,x\na a a,b b,y\n", "a.csv", {});
  const Tokenizer t = tokenizer();
  const TokenRows tokens(data, t, 0);
  const Batches batches(data, numbers(2), {.order = {.batch = 2, .shuffle = false}, .pad_to_multiple = 5}, &tokens,
                        &t.spec());
  const Batch batch = batches.make(batches.plan(0), 0, 0);
  EXPECT_THAT(batch.ids.to_integers(), ElementsAre(1, 4, 2, 5, 2, 3, 3, 3, 3, 3, 1, 4, 4, 4, 2, 5, 5, 2, 3, 3));
  EXPECT_THAT(batch.mask.to_integers(), ElementsAre(1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0));
  EXPECT_THAT(batch.types.to_integers(), ElementsAre(0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0));
  EXPECT_THAT(batch.labels.to_integers(), ElementsAre(0, 1));
  EXPECT_EQ(batch.ids.shape(), (Rows{2, 10}));
}

TEST(TextBatches, ATokenizerWithoutPaddingTakesTextsOfOneLength) {
  const Dataset data = parse_csv("text\na\na a\n", "a.csv", {});
  TokenizerSpec spec = tokenizer().spec();
  spec.pad_id.reset();
  const TokenRows tokens(data, tokenizer(), 0);
  const auto make = [&](int64_t batch) {
    const Batches batches(data, numbers(2), {.order = {.batch = batch, .shuffle = false}}, &tokens, &spec);
    return batches.make(batches.plan(0), 0, 0);
  };
  EXPECT_EQ(make(1).ids.dim(1), 3);
  EXPECT_THAT(error_of([&] { make(2); }), HasSubstr("the tokenizer has no padding token"));
}

TEST(WordBatches, OnlyTheFirstTokenOfAWordHasItsLabel) {
  const Dataset data = parse_csv("tokens,tags\nab b,X Y\na,Y\n", "a.csv", {});
  Tokenizer t = tokenizer();
  const TokenRows tokens(data, t, 0);
  const auto labels = [&](const TokenizerSpec& spec) {
    const Batches batches(data, numbers(2), {.order = {.batch = 2, .shuffle = false}}, &tokens, &spec);
    return batches.make(batches.plan(0), 0, 0).labels.to_integers();
  };
  constexpr int64_t no = kIgnoredLabel;
  EXPECT_THAT(labels(t.spec()), ElementsAre(no, 0, no, 1, no, no, 1, no, no, no));
  TokenizerSpec left = t.spec();
  left.pad_left = true;
  EXPECT_THAT(labels(left), ElementsAre(no, 0, no, 1, no, no, no, no, 1, no));
}

TEST(WordBatches, NeedTokens) {
  const Dataset data = parse_csv("tokens,tags\na,X\n", "a.csv", {});
  EXPECT_EQ(error_of([&] { Batches(data, {0}, {}); }), "a.csv: its labels are of words, and the model reads no texts");
}

TEST(TokenRows, WhatIsCutIsKnown) {
  const Dataset data = parse_csv("text\na a a a\na\n", "a.csv", {});
  const TokenRows tokens(data, tokenizer(), 4);
  EXPECT_EQ(tokens.left_out(0), 2);
  EXPECT_EQ(tokens.left_out(1), 0);
  EXPECT_EQ(tokens.length(0), 4);
  Dataset images;
  images.path = "i";
  images.rows = 1;
  EXPECT_EQ(error_of([&] { TokenRows(images, tokenizer(), 0); }), "i: has no texts, and the model reads texts");
}

TEST(Labels, OfEachKindAreTensors) {
  const auto labels = [](std::string_view text) {
    const Dataset data = parse_csv(text, "a.csv", {});
    const Batches batches(data, numbers(data.rows), {.order = {.batch = 8, .shuffle = false}});
    return batches.make(batches.plan(0), 0, 0).labels;
  };
  EXPECT_EQ(to_string(labels("text,label\na,x\nb,\n").type()), "i64[2]");
  EXPECT_THAT(labels("text,label\na,x\nb,\n").to_integers(), ElementsAre(0, kIgnoredLabel));
  EXPECT_EQ(to_string(labels("text,labels\na,x y\nb,y\n").type()), "f32[2,2]");
  EXPECT_THAT(labels("text,labels\na,x y\nb,y\n").to_floats(), ElementsAre(1, 1, 0, 1));
  EXPECT_EQ(to_string(labels("text,score\na,1.5\n").type()), "f32[1]");
  EXPECT_EQ(labels("text\na\n").elements(), 0);
}

// Rows of one channel, height x width, pixel i of row r is 10 r + i.
Dataset images(int64_t rows, int64_t height, int64_t width) {
  Dataset data;
  data.path = "i";
  data.rows = rows;
  data.images = {1, [=](int64_t row) {
                   std::vector<uint8_t> pixels;
                   for (int64_t i = 0; i < height * width; ++i) pixels.push_back(static_cast<uint8_t>(10 * row + i));
                   return Tensor::of<uint8_t>({1, height, width}, pixels);
                 }};
  for (int64_t row = 0; row < rows; ++row) data.origins.push_back({0, row + 1});
  data.files = {"i"};
  return data;
}

TEST(ImageBatches, AreNormalised) {
  const Dataset data = images(2, 1, 2);
  const Batches batches(data, numbers(2),
                        {.order = {.batch = 2, .shuffle = false}, .images = {.mean = {0.5}, .deviation = {0.25}}});
  const Batch batch = batches.make(batches.plan(0), 0, 0);
  EXPECT_EQ(to_string(batch.images.type()), "f32[2,1,1,2]");
  EXPECT_FLOAT_EQ(batch.images.to_floats()[3], (11 / 255.f - 0.5f) / 0.25f);
}

TEST(ImageBatches, OfDifferentSizesAreResizedOrRefused) {
  Dataset data = images(2, 2, 2);
  data.images.read = [](int64_t row) { return Tensor(DType::u8, {1, 2 + row, 2}); };
  const auto make = [&](const ImageTransform& transform) {
    const Batches batches(data, numbers(2), {.order = {.batch = 2, .shuffle = false}, .images = transform});
    return batches.make(batches.plan(0), 0, 0).images.shape();
  };
  EXPECT_EQ(make({.height = 4, .width = 6}), (Rows{2, 1, 4, 6}));
  EXPECT_THAT(error_of([&] { make({}); }), HasSubstr("i:2: an image of 2 x 3 pixels, and i:1 one of 2 x 2"));
  EXPECT_THAT(error_of([&] { make({.height = 4}); }), HasSubstr("give both sides"));
  EXPECT_THAT(error_of([&] { make({.mean = {1, 2}}); }), HasSubstr("2 means or deviations for 1 channels"));
}

// The pixels of `row` in an epoch, in a data set whose batches hold `batch` rows.
std::vector<int> augmented(const ImageTransform& transform, int64_t row, uint64_t epoch, int64_t batch) {
  const Dataset data = images(6, 3, 3);
  const Batches batches(data, numbers(6), {.order = {.batch = batch, .seed = 9}, .images = transform});
  const EpochPlan plan = batches.plan(epoch);
  for (int64_t i = 0; i < std::ssize(plan); ++i) {
    const Batch made = batches.make(plan, epoch, i);
    for (size_t at = 0; at < made.rows.size(); ++at)
      if (made.rows[at] == row) {
        std::vector<int> pixels;
        for (float value : made.images.to_floats()) pixels.push_back(static_cast<int>(std::lround(value * 255)));
        return {pixels.begin() + static_cast<int64_t>(9 * at), pixels.begin() + static_cast<int64_t>(9 * at + 9)};
      }
  }
  return {};
}

TEST(Augmentation, DependsOnSeedEpochAndRowAloneNotOnTheBatch) {
  const ImageTransform transform{.crop_padding = 1, .flip = true};
  std::set<std::vector<int>> seen;
  for (uint64_t epoch = 0; epoch < 8; ++epoch) {
    seen.insert(augmented(transform, 4, epoch, 2));
    EXPECT_EQ(augmented(transform, 4, epoch, 2), augmented(transform, 4, epoch, 6));
  }
  EXPECT_GT(seen.size(), 4u);
}

TEST(Augmentation, FlipsAndCropsAreOfTheImageItself) {
  std::set<std::vector<int>> flipped, cropped;
  for (uint64_t epoch = 0; epoch < 200; ++epoch) {
    flipped.insert(augmented({.flip = true}, 0, epoch, 3));
    cropped.insert(augmented({.crop_padding = 1}, 1, epoch, 3));
  }
  EXPECT_THAT(flipped, testing::UnorderedElementsAre(ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8),
                                                     ElementsAre(2, 1, 0, 5, 4, 3, 8, 7, 6)));
  EXPECT_EQ(cropped.size(), 9u) << "three places in each direction";
  EXPECT_THAT(cropped, Contains(ElementsAre(0, 0, 0, 0, 10, 11, 0, 13, 14))) << "black comes in from above and left";
}

TEST(Resize, IsTheMeanOfWhatAPixelCovers) {
  const Tensor image = Tensor::of<uint8_t>({1, 1, 4}, {0, 40, 100, 200});
  EXPECT_THAT(resize_image(image, 1, 4).to_integers(), ElementsAre(0, 40, 100, 200));
  EXPECT_THAT(resize_image(Tensor::of<uint8_t>({1, 2, 2}, {7, 7, 7, 7}), 5, 3).to_integers(), Each(7));
  // Triangles of half width 2 around 1 and 3: weights 3, 3, 1 of 7 at one side, 1, 3, 3 at the other.
  EXPECT_THAT(resize_image(image, 1, 2).to_integers(), ElementsAre(31, 134));
}

TEST(PixelStatistics, AreThoseOfTheRowsAsked) {
  const Dataset data = images(3, 1, 2);
  const PixelStatistics statistics = pixel_statistics(data, Rows{0, 2});  // 0, 1, 20, 21
  EXPECT_FLOAT_EQ(statistics.mean[0], 10.5f / 255);
  EXPECT_FLOAT_EQ(statistics.deviation[0], std::sqrt(100.25f) / 255);
}

std::vector<Rows> rows_of(BatchReader& reader) {
  std::vector<Rows> all;
  while (const auto batch = reader.next()) all.push_back(batch->rows);
  return all;
}

TEST(BatchReader, GivesAllBatchesInOrderAndGoesOnAnywhere) {
  const Dataset data = images(10, 1, 1);
  const Batches batches(data, numbers(10), {.order = {.batch = 4, .seed = 2}});
  BatchReader whole(batches, 3);
  const std::vector<Rows> all = rows_of(whole);
  ASSERT_EQ(all.size(), 9u);
  EXPECT_EQ(all[4], batches.plan(1)[1]);
  EXPECT_FALSE(whole.next());
  BatchReader rest(batches, 3, 1, 2, 1);
  EXPECT_EQ(rows_of(rest), std::vector<Rows>(all.begin() + 5, all.end()));
}

TEST(BatchReader, ReadsNoFurtherAheadThanAsked) {
  Dataset data = images(100, 1, 1);
  std::atomic<int> read{0};
  data.images.read = [&](int64_t) { return ++read, Tensor(DType::u8, {1, 1, 1}); };
  const Batches batches(data, numbers(100), {.order = {.batch = 1}});
  BatchReader reader(batches, 1, 0, 0, 3);
  for (int taken = 0; reader.next();) EXPECT_LE(read, ++taken + 3 + 1) << "waiting, and the one that finds no room";
  EXPECT_EQ(read, 100);
}

TEST(BatchReader, WhatTheThreadThrowsComesAfterTheBatchesBefore) {
  Dataset data = images(4, 1, 1);
  data.images.read = [](int64_t row) {
    if (row == 2) fail("row 2 is bad");
    return Tensor(DType::u8, {1, 1, 1});
  };
  const Batches batches(data, numbers(4), {.order = {.batch = 1, .shuffle = false}});
  BatchReader reader(batches, 1);
  EXPECT_TRUE(reader.next());
  EXPECT_TRUE(reader.next());
  EXPECT_EQ(error_of([&] { reader.next(); }), "row 2 is bad");
  EXPECT_EQ(error_of([&] { reader.next(); }), "row 2 is bad") << "and again";
}

TEST(BatchReader, EndsWhenNobodyWantsMoreOrTheUserStops) {
  const Dataset data = images(1000, 1, 1);
  const Batches batches(data, numbers(1000), {.order = {.batch = 1}});
  { BatchReader unread(batches, 1000); }
  BatchReader reader(batches, 1000);
  request_stop(Stop::interrupted);
  EXPECT_THROW(rows_of(reader), Stopped);
  request_stop(Stop::none);
}

}  // namespace
}  // namespace hone
