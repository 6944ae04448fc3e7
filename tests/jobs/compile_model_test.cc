// A model's file with the machine code of its kernels: starts without compiling, and means the same.
#include "views/compile_model.h"

#include "base/log.h"
#include "device/x86/device.h"
#include "io/artefact.h"
#include "jobs/open_session.h"
#include "tests/jobs/jobs_fixture.h"
#include "tests/support/branching_model.h"

namespace hone {
namespace {

class CompileModel : public JobsTest {
 protected:
  Record compile(const std::string& source, SessionOptions options = {}) const {
    return view_of(compile_model(load_model(source), options, {.dims = shapes}, file));
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
  const Outcome first = run(model), carried = run(file, {.model_code = true});
  EXPECT_EQ(carried.statistics.kernels_compiled, 0);
  EXPECT_GT(carried.statistics.kernels_bundled, 0);
  EXPECT_GT(value_of(item(record, "compiled", "kernels")), first.statistics.kernels_compiled)
      << "code for any sizes, and for these alone";
  EXPECT_TRUE(carried.outputs[0].same_bits(first.outputs[0]));
}

TEST_F(CompileModel, SaysThatBodiesAreCompiledWhenTheyRun) {
  Model branches;
  branches.graph = test::branching_model();
  branches.path = folder / "branches.safetensors";
  save_artefact(branches.path, branches.graph);
  const CompileResult result = compile_model(load_model(branches.path), SessionOptions(), {}, file);
  EXPECT_EQ(result.with_bodies, 1);
  const Record record = view_of(result);
  EXPECT_EQ(record.findings.at(1), "without code of the bodies of 1 node, compiled when they first run");
}

TEST_F(CompileModel, TheFileCarriesCodeForOtherSizesToo) {
  compile(model);
  Session session = open_session(load_model(file), {.model_code = true});
  session.run(default_inputs(session.graph(), {{"B", 3}, {"S", 20}}, 1));
  EXPECT_EQ(session.statistics().kernels_compiled, 0);
}

TEST_F(CompileModel, CodeThatIsNotTrustedIsLeftAsideAndSaidToBe) {
  compile(model);
  std::string said;
  set_log_sink([&](LogLevel, std::string_view text) { said += text; });
  const Outcome plain = run(file);
  set_log_sink({});
  EXPECT_GT(plain.statistics.kernels_compiled, 0);
  EXPECT_EQ(plain.statistics.kernels_bundled, 0);
  EXPECT_THAT(said, testing::AllOf(testing::HasSubstr(file), testing::HasSubstr("--trust-code")));
}

TEST_F(CompileModel, CodeOfTheFileNeverEntersTheCache) {
  compile(model);
  const std::string cache = folder / "cache";
  run(file, {.cache_folder = cache, .model_code = true});
  EXPECT_TRUE(!std::filesystem::exists(cache) || std::filesystem::is_empty(cache));
}

// What others have put into a file is carried on unread, and never into the new code.
TEST_F(CompileModel, CodeOfOtherLevelsIsKeptByteForByteAndOwnCodeIsMadeAnew) {
  compile(model);
  Model planted = load_model(file);
  std::map<std::string, std::string> files = planted.files;
  for (const auto& [name, content] : planted.objects) files[name] = content;
  const std::string foreign("\0\xff no machine code", 20);
  files[std::string(kObjectFiles) + "riscv"] = foreign;
  save_artefact(file, planted.graph, files);
  const Record record = compile(file, {.cache_folder = std::string(folder / "cache")});
  EXPECT_EQ(value_of(item(record, "compiled", "kernels")), value_of(item(record, "compiled", "kernels_compiled")));
  const Record again = compile(file, {.cache_folder = std::string(folder / "cache")});
  EXPECT_EQ(value_of(item(again, "compiled", "kernels")), value_of(item(again, "compiled", "kernels_compiled")));
  EXPECT_EQ(load_model(file).objects.at(std::string(kObjectFiles) + "riscv"), foreign);
}

TEST_F(CompileModel, CodeOfAnotherLevelIsAddedToWhatIsThere) {
  if (target_levels().size() < 2) GTEST_SKIP() << "this CPU has one level";
  compile(model);
  compile(file, {.device = open_device("cpu:avx2")});
  EXPECT_EQ(load_model(file).objects.size(), 2u);
  EXPECT_EQ(run(file, {.model_code = true}).statistics.kernels_compiled, 0);
  EXPECT_EQ(run(file, {.device = open_device("cpu:avx2"), .model_code = true}).statistics.kernels_compiled, 0);
}

TEST_F(CompileModel, AQuantizedCopyCarriesNoCodeOfTheOriginal) {
  compile(model);
  const Model compiled = load_model(file);
  QuantizeOptions options;
  options.to = "mxint8";
  save_model(folder / "q.safetensors", quantize_model(compiled, options, std::nullopt).graph, compiled);
  EXPECT_TRUE(load_model(folder / "q.safetensors").objects.empty());
}

TEST_F(CompileModel, DamagedCodeIsCompiledAgain) {
  compile(model);
  Model damaged = load_model(file);
  for (auto& [name, content] : damaged.objects) content[content.size() / 2] ^= 1;
  Session session = open_session(damaged, {.model_code = true});
  session.prepare(shapes);
  EXPECT_GT(session.statistics().kernels_compiled, 0);
  EXPECT_THAT(session.statistics().notes(), testing::ElementsAre(testing::HasSubstr("damaged")));
}

TEST_F(CompileModel, RefusesOutputsThatAreNoModelFile) {
  EXPECT_THROW(compile_model(load_model(model), SessionOptions(), {.dims = shapes}, folder / "x.onnx"), Error);
  EXPECT_THROW(compile_model(load_model(model), SessionOptions{.optimise = 1}, {.dims = shapes}, file), Error);
}

}  // namespace
}  // namespace hone
