// What choices are compared by: a model that may not be written is no best one.
#include "jobs/format_study.h"

#include <cmath>

#include "tests/jobs/jobs_fixture.h"

namespace hone {
namespace {

class FormatStudyTest : public JobsTest {
 protected:
  FormatStudy study(const std::string& data) const {
    return FormatStudy(load_model(model), {.data = {.file = data, .batch = 4},
                                           .judged = {},
                                           .calibration = {},
                                           .quantize = {},
                                           .session = {},
                                           .memory = folder / "measurements.txt",
                                           .settings = ""});
  }
};

// No sample has the last word of the table, so that its NaN is in no output.
TEST_F(FormatStudyTest, AModelWithANaNIsWorseThanAnyWhateverTheSamplesShow) {
  FormatStudy s = study(folder.put("texts.txt", "a cup\nthe cup\na\nthe\ncup a\ncup the\nthe a\na the\n"));
  const auto with_last_of_table = [&](float value) {
    Graph changed = s.graph;
    const ValueId table = changed.find_constant("embeddings.word_embeddings.weight");
    std::vector<float> values = changed.constant(table)->to_floats();
    values.back() = value;
    changed.set_constant(table, Tensor::of<float>(changed.constant(table)->shape(), values));
    return changed;
  };
  const auto number = s.measured("a number", [&] { return FormatStudy::Changed{with_last_of_table(7), {1, 2}}; });
  EXPECT_EQ(number.selecting.error, 0);
  const auto none = s.measured("none", [&] { return FormatStudy::Changed{with_last_of_table(NAN), {1, 2}}; });
  EXPECT_TRUE(std::isinf(none.selecting.error));
  EXPECT_TRUE(std::isinf(none.held_out.error));
  EXPECT_TRUE(s.scale.is_better(number.selecting, none.selecting));
  EXPECT_FALSE(s.scale.is_better(none.selecting, number.selecting));
}

}  // namespace
}  // namespace hone
