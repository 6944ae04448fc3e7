// hone doctor: what it finds without running a model.
#include "jobs/doctor.h"

#include "tests/jobs/jobs_fixture.h"
#include "tests/support/pyramid.h"
#include "views/doctor.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class DoctorTest : public JobsTest {
 protected:
  struct Examined {
    int64_t problems;
    Record record;
  };
  Examined examine(const std::string& path, const DoctorOptions& options = {}) {
    const Diagnosis diagnosis = doctor(path, options);
    return {diagnosis.problems(), view_of(diagnosis)};
  }
};

TEST_F(DoctorTest, FindsNoProblemInASoundModelAndPredictsTheSizeThatQuantizingGives) {
  const Examined diagnosis = examine(model, {.formats = {"mxint8"}});
  EXPECT_EQ(diagnosis.problems, 0);
  const auto* formats = find_block<Table>(diagnosis.record, "formats");
  ASSERT_TRUE(formats);
  ASSERT_EQ(formats->rows.size(), 2u);
  const double predicted = std::get<Number>(formats->rows[1][2]).value;
  EXPECT_EQ(predicted, static_cast<double>(sizes(load_model(quantized("mxint8")).graph).weight_bytes));
}

TEST_F(DoctorTest, SaysWhichSizesARunMustChoose) {
  EXPECT_THAT(examine(model).record.findings, Contains(HasSubstr("S=")));
}

TEST_F(DoctorTest, CountsWeightsThatAreNotFinite) {
  const std::string path = put_graph("nan.safetensors", R"(graph g {
    %x : f32[2,3] = input "x"
    %w : f32[2,3] = const "w" {1, nan, 2, inf, -inf, 3}
    %y = linear %x, %w
    return %y as "y"
  })");
  const Examined diagnosis = examine(path);
  EXPECT_GT(diagnosis.problems, 0);
  EXPECT_THAT(diagnosis.record.findings, Contains(HasSubstr("w holds 1 NaN and 2 infinite values")));
}

// Masks are made with infinities; no training repairs them, and quantize leaves them alone.
TEST_F(DoctorTest, InfinitiesOfMasksAreNoProblem) {
  const std::string path = put_graph("masked.safetensors", R"(graph g {
    %x : f32[2,2] = input "x"
    %w : f32[2,2] = const "w" {1, 2, 3, 4}
    %mask : f32[2,2] = const "mask" {0, -inf, 0, 0}
    %never : f32[] = const "never" {-inf}
    %y = linear %x, %w
    %masked = add %y, %mask
    %z = max %masked, %never
    return %z as "z"
  })");
  const Examined diagnosis = examine(path);
  EXPECT_EQ(diagnosis.problems, 0) << testing::PrintToString(diagnosis.record.findings);
  EXPECT_THAT(diagnosis.record.findings, Contains(HasSubstr("as masks have them: mask")));
  EXPECT_THAT(diagnosis.record.findings, Not(Contains(HasSubstr("never"))));
}

TEST_F(DoctorTest, NaNAmongOtherConstantsIsAProblem) {
  const std::string path = put_graph("nan.safetensors", R"(graph g {
    %x : f32[2] = input "x"
    %shift : f32[2] = const "shift" {0, nan}
    %y = add %x, %shift
    return %y as "y"
  })");
  EXPECT_EQ(examine(path).problems, 1);
}

// The sizes were made up, so that they do not fit says nothing about the model, but that little was looked at.
TEST_F(DoctorTest, SaysWhatItCouldNotExamineAndWhatToPass) {
  const std::string path = put_graph("fixed.safetensors", R"(graph g {
    %x : f32[N,3,H,W] = input "x"
    %table : f32[1,3,8] = const "table" {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24}
    %patches = reshape %x {shape=[N,3,H*W]}
    %y = add %patches, %table
    return %y as "y"
  })");
  const Examined guessed = examine(path);
  EXPECT_EQ(guessed.problems, 0);
  EXPECT_THAT(guessed.record.findings[0], HasSubstr("which is not all"));
  EXPECT_THAT(guessed.record.findings[1], AllOf(HasSubstr("not examined: "), HasSubstr("W=224"), HasSubstr("--dim")));
  const auto* memory = find_block<KeyValues>(guessed.record, "memory");
  ASSERT_TRUE(memory);
  for (const KeyValue& item : memory->items) EXPECT_NE(item.key, "needed_bytes") << "nothing is known of a run";

  EXPECT_EQ(examine(path, {.shapes = {.dims = {{"H", 4}, {"W", 4}}}}).problems, 1) << "they were asked for";
  const Examined fitting = examine(path, {.shapes = {.dims = {{"H", 4}, {"W", 2}}}});
  EXPECT_EQ(fitting.problems, 0);
  EXPECT_THAT(fitting.record.findings[0], Not(HasSubstr("which is not all")));
}

TEST_F(DoctorTest, SaysThatNoTimeIsPredictedWithoutTheMachinesPeaks) {
  EXPECT_THAT(examine(model).record.findings,
              Contains(AllOf(HasSubstr("no time is predicted"), HasSubstr("hone machine"))));
  EXPECT_FALSE(find_block<KeyValues>(examine(model).record, "speed"));
}

TEST_F(DoctorTest, NamesWhatIsInterpretedWithItsShareAndReason) {
  const std::string path = put_graph("sorted.safetensors", R"(graph g {
    %x : f32[1,4,4] = input "x"
    %s = lp_pool %x {kernel_shape=[1]}
    %n = non_zero %s
    return %s as "s", %n as "n"
  })");
  const Examined diagnosis = examine(path);
  const auto* interpreted = find_block<Table>(diagnosis.record, "interpreted");
  ASSERT_TRUE(interpreted);
  std::string all;
  for (const auto& row : interpreted->rows)
    all += std::get<std::string>(row[0]) + ": " + std::get<std::string>(row[3]) + "\n";
  EXPECT_THAT(all, HasSubstr("lp_pool: "));
  EXPECT_THAT(all, HasSubstr("non_zero: shapes depend on data"));
}

TEST_F(DoctorTest, FormatsThatDoNotFitAreProblemsWhenTheyWereAskedFor) {
  const std::string path = put_graph("large.safetensors", R"(graph g {
    %x : f32[2,2] = input "x"
    %w : f32[2,2] = const "w" {1, 100000, 2, 3}
    %y = linear %x, %w
    return %y as "y"
  })");
  EXPECT_THAT(examine(path, {.formats = {"fp16"}}).record.findings, Contains(HasSubstr("beyond its range")));
  EXPECT_GT(examine(path, {.formats = {"int8.channel.ax7"}}).problems, 0);
  EXPECT_GT(examine(path, {.formats = {"no_such_format"}}).problems, 0);
}

TEST_F(DoctorTest, ADiskThatIsTooSmallIsAProblem) {
  EXPECT_EQ(examine(model, {.disk = "/proc"}).problems, 1) << "/proc has no room";
}

TEST_F(DoctorTest, OfASoundModelAllWeightsCanBeTrained) {
  const Examined diagnosis = examine(model, {.train = true});
  EXPECT_EQ(diagnosis.problems, 0) << testing::PrintToString(diagnosis.record.findings);
  EXPECT_FALSE(find_block<Table>(diagnosis.record, "untrainable"));
  EXPECT_THAT(diagnosis.record.findings, Contains(HasSubstr("parameters can be trained")));
  EXPECT_THAT(examine(model).record.findings, Not(Contains(HasSubstr("trained"))));
}

TEST_F(DoctorTest, ListsParametersAsTheFileHasThem) {
  const std::string path = put_graph("rotary.safetensors", R"(graph g {
    %x : f32[B,2] = input "x"
    %w : f32[2,3] = const "w" {1, 2, 3, 4, 5, 6}
    %b : f32[3] = const "b" {0, 0, 0}
    %c : f32[3] = const "cos" {1, 0, -1}
    %m = matmul %x, %w
    %a = add %m, %b
    %y = mul %a, %c
    return %y as "y"
  })");
  const Examined diagnosis = examine(path, {.train = true});
  EXPECT_THAT(diagnosis.record.findings, Contains(HasSubstr("9 numbers in 2 of 2 parameters can be trained")));
  const auto* table = find_block<Table>(diagnosis.record, "parameters");
  ASSERT_TRUE(table);
  ASSERT_EQ(table->rows.size(), 3u);
  const auto text = [&](size_t row, size_t column) { return std::get<std::string>(table->rows[row][column]); };
  EXPECT_EQ(text(0, 0), "w");
  EXPECT_EQ(text(0, 1), "[2,3]") << "as MatMul reads it";
  EXPECT_EQ(text(0, 3), "weight");
  EXPECT_EQ(text(0, 4), "yes");
  EXPECT_EQ(text(2, 0), "cos");
  EXPECT_THAT(text(2, 4), HasSubstr("no: a table or mask by its name"));
}

TEST_F(DoctorTest, ListsWhatStandsBetweenWeightsAndOutputs) {
  const std::string path = put_graph("determinant.safetensors", R"(graph g {
    %x : f32[2,2] = input "x"
    %w : f32[2,2] = const "w" {1, 2, 3, 4}
    %y = linear %x, %w
    %z = det %y
    return %z as "z"
  })");
  const Examined diagnosis = examine(path, {.train = true});
  EXPECT_EQ(diagnosis.problems, 1);
  const auto* table = find_block<Table>(diagnosis.record, "untrainable");
  ASSERT_TRUE(table);
  ASSERT_EQ(table->rows.size(), 1u);
  EXPECT_EQ(std::get<std::string>(table->rows[0][0]), "det");
  EXPECT_THAT(std::get<std::string>(table->rows[0][2]), HasSubstr("no op inverts matrices"));
}

TEST_F(DoctorTest, OpenSizesThatGradientsNeedAreTheDatas) {
  save_artefact(folder / "pyramid.safetensors", test::pyramid());
  const Examined diagnosis = examine(folder / "pyramid.safetensors", {.train = true});
  EXPECT_EQ(diagnosis.problems, 0) << testing::PrintToString(diagnosis.record.findings);
  EXPECT_THAT(diagnosis.record.findings, Contains(HasSubstr("gradients need sizes that the model leaves open")));
  EXPECT_THAT(diagnosis.record.findings, Contains(HasSubstr("3 of 3 parameters can be trained")));
}

TEST_F(DoctorTest, AModelWithoutWeightsCannotBeTrained) {
  const std::string path = put_graph("tanh.safetensors", R"(graph g {
    %x : f32[2] = input "x"
    %y = tanh %x
    return %y as "y"
  })");
  EXPECT_THAT(examine(path, {.train = true}).record.findings, Contains(HasSubstr("it can't be trained: ")));
}

}  // namespace
}  // namespace hone
