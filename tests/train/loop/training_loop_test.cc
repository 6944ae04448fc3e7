// The steps of a training: which batches they have, and what ends them.
#include "train/loop/training_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tests/support/error_of.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TrainingLoopTest : public testing::Test {
 protected:
  TrainingLoopTest() { data.rows = 6, data.arrays = {{"x", Tensor::of<float>({6, 1}, {0, 1, 2, 3, 4, 5})}}; }
  // Three batches an epoch.
  Batches batches() const { return {data, {0, 1, 2, 3, 4, 5}, {.order = {.batch = 2, .seed = 1}}}; }
  static Schedule constant() { return {{.schedule = "constant"}, 0.5, 8}; }

  using Made = std::vector<std::pair<int64_t, std::vector<int64_t>>>;
  static Made made(const TrainingLoop& loop, int64_t begin, int64_t end) {
    Made all;
    loop.run(begin, end, {.make = [&](const TrainingStep& step) {
               EXPECT_EQ(step.rate, 0.5);
               all.emplace_back(step.number, step.batch.rows);
               return 1.0;
             }});
    return all;
  }

  Dataset data;
};

TEST_F(TrainingLoopTest, GoesOnInTheMiddleOfAnEpochWithTheSameBatches) {
  const Batches all = batches();
  const TrainingLoop loop(all, constant(), 8);
  const Made whole = made(loop, 0, 8);
  ASSERT_EQ(whole.size(), 8u);
  Made parts = made(loop, 0, 4);
  for (auto& step : made(loop, 4, 8)) parts.push_back(std::move(step));
  EXPECT_EQ(parts, whole);
  EXPECT_TRUE(made(loop, 8, 8).empty());
}

TEST_F(TrainingLoopTest, CountsEpochsByItsSteps) {
  const Batches all = batches();
  const TrainingLoop loop(all, constant(), 8);
  EXPECT_EQ(loop.epochs(7), 2);
  EXPECT_EQ(loop.batches(7), 1);
  EXPECT_DOUBLE_EQ(loop.epochs_seen(7), 2 + 1.0 / 3);
}

TEST_F(TrainingLoopTest, EndsWhereWhatFollowsAStepSaysSo) {
  const Batches all = batches();
  std::vector<int64_t> followed;
  TrainingLoop(all, constant(), 8)
      .run(0, 8,
           {.make = [](const TrainingStep&) { return 1.0; },
            .made =
                [&](const TrainingStep& step, double) {
                  followed.push_back(step.number);
                  return step.number < 2;
                }});
  EXPECT_THAT(followed, ElementsAre(0, 1, 2));
}

TEST_F(TrainingLoopTest, ALossThatIsNoNumberIsSaidBeforeWhatFollows) {
  const Batches all = batches();
  const auto run = [&] {
    TrainingLoop(all, constant(), 8)
        .run(0, 8,
             {.make = [](const TrainingStep& step) { return step.number == 3 ? std::nan("") : 1.0; },
              .lost = [](const TrainingStep& step, double loss) { fail("step {} has {}", step.number, loss); },
              .made =
                  [](const TrainingStep& step, double) {
                    EXPECT_LT(step.number, 3);
                    return true;
                  }});
  };
  EXPECT_THAT(test::error_of(run), HasSubstr("step 3 has nan"));
}

}  // namespace
}  // namespace hone
