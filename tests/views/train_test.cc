// What hone train shows of a training.
#include "views/train.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/atomic_file.h"
#include "tests/io/temporary_folder.h"

namespace hone {
namespace {

using testing::Contains;
using testing::HasSubstr;

class TrainViewTest : public testing::Test {
 protected:
  TrainViewTest() {
    trained.data = "texts.csv", trained.data_rows = 112;
    trained.classes = {"no", "yes"};
    trained.notes = {"a note"};
    trained.outcome.steps = 28, trained.outcome.seconds = 3.06;
    trained.outcome.metric = parse_metric("accuracy");
    trained.outcome.best = {.step = 21,
                            .loss = 0.5,
                            .metric = 0.75,
                            .estimate = Estimate{.value = 0.75, .ci95 = Interval{0.5, 1}, .samples = 4},
                            .confusion = Confusion()};
    trained.outcome.last = {.step = 28, .loss = 0.6, .metric = 0.5};
    trained.outcome.log = {{.step = 10, .split = "train", .values = {{"loss", 1.5}, {"rate", 0.1}}}};
    original.name = "small";
  }
  Record shown() const { return view_of(trained, original, folder.put("out.safetensors", "x"), {.check = "checked"}); }

  TemporaryFolder folder;
  TrainedModel trained;
  Model original;
};

TEST_F(TrainViewTest, SaysWhatWasLearnedOfWhat) {
  const Record record = shown();
  EXPECT_THAT(record.findings.at(0), HasSubstr("out.safetensors: small trained on 112 rows of texts.csv for 28 steps "
                                               "in 3.1 s; accuracy 75.00 % (50.00 %-100.00 %) on 4 validation "
                                               "samples, with the weights of step 21"));
  EXPECT_THAT(record.findings, Contains("a note"));
  EXPECT_THAT(record.findings, Contains(HasSubstr("out.safetensors: checked")));
}

TEST_F(TrainViewTest, ShowsTheChosenAndTheLastWeightsAndCurvesOfWhatWasLogged) {
  const Record record = shown();
  const auto* table = find_block<Table>(record, "validation");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->rows.size(), 2u);
  EXPECT_NE(find_block<Table>(record, "confusion"), nullptr);
  ASSERT_NE(find_block<LinePlot>(record, "curve_loss"), nullptr);
  EXPECT_EQ(find_block<LinePlot>(record, "curve_loss")->lines.size(), 1u);
  EXPECT_EQ(find_block<LinePlot>(record, "curve_accuracy"), nullptr);
}

TEST_F(TrainViewTest, WithoutValidationSaysNothingOfIt) {
  trained.outcome.best.reset();
  const Record record = shown();
  EXPECT_THAT(record.findings.at(0), testing::Not(HasSubstr("validation")));
  EXPECT_EQ(find_block<Table>(record, "validation"), nullptr);
}

}  // namespace
}  // namespace hone
