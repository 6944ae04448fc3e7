// hone run: one run of a model, and what is shown of its outputs.
#include "jobs/run_model.h"

#include "base/stop.h"
#include "io/numpy.h"
#include "tests/jobs/jobs_fixture.h"
#include "views/run_model.h"

namespace hone {
namespace {

class RunModel : public JobsTest {
 protected:
  const Model negated = load_model(put_graph(
      "negated.safetensors", "%x : f32[B,2] = input \"x\" %y = neg %x %z = relu %x return %y as \"y\", %z as \"z\""));
};

TEST_F(RunModel, OutputsComeByName) {
  RunModelOptions options;
  write_npy(folder / "x.npy", Tensor::of<float>({1, 2}, std::vector<float>{3, -1}));
  options.input = {"x=" + folder / "x.npy"};
  const RunModelResult result = run_model(negated, options);
  EXPECT_EQ(result.names, (std::vector<std::string>{"y", "z"}));
  EXPECT_EQ(output_names(negated.graph), result.names);
  EXPECT_EQ(result.outputs.at(0).to_floats(), (std::vector<float>{-3, 1}));
  EXPECT_EQ(result.outputs.at(1).to_floats(), (std::vector<float>{3, 0}));
  EXPECT_FALSE(result.profile);
  const Record record = view_of(result, {"y.npy", "z.npy"});
  EXPECT_EQ(value_of(cell(table_of(record, "outputs"), "mean", 0)), -1);
  EXPECT_EQ(text_of(cell(table_of(record, "outputs"), "file", 1)), "z.npy");
}

TEST_F(RunModel, AProfileNeedsCompiledSteps) {
  RunModelOptions options;
  options.profile = true, options.optimise = 0;
  EXPECT_THAT(error_of([&] { run_model(negated, options); }), testing::HasSubstr("--profile shows compiled steps"));
}

TEST_F(RunModel, ACancelledOneDoesNotRun) {
  EXPECT_THROW(run_model(negated, {}, {.cancelled = [] { return true; }}), Stopped);
}

}  // namespace
}  // namespace hone
