// Constants of strings as outputs: elements that have no size, among those that have.
#include "jobs/compile_model.h"
#include "jobs/doctor.h"
#include "jobs/explain.h"
#include "jobs/export_model.h"
#include "jobs/open_session.h"
#include "tests/jobs/jobs_fixture.h"

namespace hone {
namespace {

class StringOutputs : public JobsTest {
 protected:
  static void expect_outputs(const std::string& path, int optimise) {
    Session session = open_session(load_model(path), {.optimise = optimise});
    const std::vector<Tensor> outputs = session.run({{"x", Tensor::of<float>({2}, {-1, 2})}});
    ASSERT_EQ(outputs.size(), 3u) << path;
    EXPECT_EQ(outputs[0].string_values(), (std::vector<std::string>{"a", ""})) << path;
    EXPECT_EQ(outputs[1].string_values(), (std::vector<std::string>{"aa", ""})) << path;
    EXPECT_EQ(outputs[2].to_floats(), (std::vector<float>{0, 2})) << path;
  }
  const std::string model = put_graph("strings.safetensors", R"(graph g {
    %s : string[2] = const {"a", ""}
    %x : f32[N] = input "x"
    %t = string_concat %s, %s
    %y = relu %x
    return %s as "s", %t as "t", %y as "y"
  })");
};

TEST_F(StringOutputs, AreWhatTheyAreAtEveryLevel) {
  for (int optimise : {0, 1, 2}) expect_outputs(model, optimise);
}

TEST_F(StringOutputs, AreExplainedAndExamined) {
  EXPECT_FALSE(explain(load_model(model)).steps.empty());
  EXPECT_EQ(doctor(model, {}).problems(), 0);
}

TEST_F(StringOutputs, AreWritten) {
  const std::string onnx = folder / "s.onnx", compiled = folder / "c.safetensors";
  export_model(load_model(model), onnx);
  compile_model(load_model(model), SessionOptions(), {}, compiled);
  for (const std::string& path : {onnx, compiled}) expect_outputs(path, 2);
}

}  // namespace
}  // namespace hone
