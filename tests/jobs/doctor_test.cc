// hone doctor: what it finds without running a model.
#include "jobs/doctor.h"

#include <limits>

#include "tests/jobs/jobs_fixture.h"

namespace hone {
namespace {

using testing::Contains;
using testing::HasSubstr;

class DoctorTest : public JobsTest {
 protected:
  Diagnosis examine(const std::string& path, DoctorOptions options = {}) { return doctor(path, options); }
};

TEST_F(DoctorTest, FindsNoProblemInASoundModelAndPredictsTheSizeThatQuantisingGives) {
  const Diagnosis diagnosis = examine(model, {.formats = {"mxint8"}});
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
  const Diagnosis diagnosis = examine(path);
  EXPECT_GT(diagnosis.problems, 0);
  EXPECT_THAT(diagnosis.record.findings, Contains(HasSubstr("w holds 1 NaN and 2 infinite values")));
}

TEST_F(DoctorTest, NamesWhatIsInterpretedWithItsShareAndReason) {
  const std::string path = put_graph("sorted.safetensors", R"(graph g {
    %x : f32[4,4] = input "x"
    %s = cumsum %x {axis=0}
    %n = non_zero %s
    return %s as "s", %n as "n"
  })");
  const Diagnosis diagnosis = examine(path);
  const auto* interpreted = find_block<Table>(diagnosis.record, "interpreted");
  ASSERT_TRUE(interpreted);
  std::string all;
  for (const auto& row : interpreted->rows)
    all += std::get<std::string>(row[0]) + ": " + std::get<std::string>(row[3]) + "\n";
  EXPECT_THAT(all, HasSubstr("cumsum: "));
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

}  // namespace
}  // namespace hone
