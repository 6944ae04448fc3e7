// A model's file with the machine code of its kernels: starts without compiling, and means the same.
#include "jobs/compile_model.h"

#include "jobs/open_session.h"
#include "tests/jobs/jobs_fixture.h"

namespace hone {
namespace {

class CompileModel : public JobsTest {
 protected:
  Record compile(const std::string& source, SessionOptions options = {}) const {
    return compile_model(load_model(source), options, {.dims = shapes}, file, "hone compile");
  }
  struct Outcome {
    std::vector<Tensor> outputs;
    SessionStatistics statistics;
  };
  Outcome run(const std::string& path, SessionOptions options = {}) const {
    Session session = open_session(load_model(path), options);
    std::vector<Tensor> outputs = session.run(default_inputs(session.graph(), shapes, 1));
    return {std::move(outputs), session.statistics()};
  }
  const Bindings shapes{{"B", 2}, {"S", 16}};
  std::string file = folder / "compiled.safetensors";
};

TEST_F(CompileModel, TheFileStartsWithoutCompiling) {
  const Record record = compile(model);
  check(record);
  const Outcome first = run(model), carried = run(file);
  EXPECT_EQ(carried.statistics.kernels_compiled, 0);
  EXPECT_EQ(carried.statistics.kernels_carried, first.statistics.kernels_compiled);
  EXPECT_EQ(value_of(item(record, "compiled", "kernels")), first.statistics.kernels_compiled);
  EXPECT_TRUE(carried.outputs[0].same_bits(first.outputs[0]));
}

TEST_F(CompileModel, WithoutItsCodeTheModelIsCompiled) {
  compile(model);
  const Outcome plain = run(file, {.model_code = false});
  EXPECT_GT(plain.statistics.kernels_compiled, 0);
  EXPECT_EQ(plain.statistics.kernels_carried, 0);
}

TEST_F(CompileModel, CodeOfAnotherLevelIsAddedToWhatIsThere) {
  if (available_isa_levels().size() < 2) GTEST_SKIP() << "this CPU has one level";
  compile(model);
  compile(file, {.isa = IsaLevel::avx2});
  EXPECT_EQ(load_model(file).objects.size(), 2u);
  EXPECT_EQ(run(file).statistics.kernels_compiled, 0);
  EXPECT_EQ(run(file, {.isa = IsaLevel::avx2}).statistics.kernels_compiled, 0);
}

TEST_F(CompileModel, AQuantisedCopyCarriesNoCodeOfTheOriginal) {
  compile(model);
  const LoadedModel compiled = load_model(file);
  QuantizeOptions options;
  options.to = "mxint8";
  save_model(folder / "q.safetensors", quantize_model(compiled, options, std::nullopt).graph, compiled);
  EXPECT_TRUE(load_model(folder / "q.safetensors").objects.empty());
}

TEST_F(CompileModel, DamagedCodeIsCompiledAgain) {
  compile(model);
  LoadedModel damaged = load_model(file);
  for (auto& [name, content] : damaged.objects) content[content.size() / 2] ^= 1;
  Session session = open_session(damaged, {});
  session.prepare(shapes);
  EXPECT_GT(session.statistics().kernels_compiled, 0);
  EXPECT_THAT(session.statistics().notes(), testing::ElementsAre(testing::HasSubstr("damaged")));
}

TEST_F(CompileModel, RefusesOutputsThatAreNoModelFile) {
  EXPECT_THROW(compile_model(load_model(model), {}, {.dims = shapes}, folder / "x.onnx", ""), Error);
  EXPECT_THROW(compile_model(load_model(model), {.optimise = 1}, {.dims = shapes}, file, ""), Error);
}

}  // namespace
}  // namespace hone
