// A number format, a pass, a family of models, an importer, an exporter, a weight layout, an operator of ONNX, a
// metric, a tokenizer, an optimizer, a score, a sampler, a pruner and a verb, each of which is one file in this folder
// and nothing else: they are there for all that goes by tables, and do what they are for. The suites over those tables
// run with them in this program, too (tests/CMakeLists.txt).
#include <gmock/gmock.h>

#include "base/registry.h"
#include "data/reader.h"
#include "formats/registry.h"
#include "io/artefact.h"
#include "io/hf_directory.h"
#include "io/safetensors.h"
#include "jobs/save_model.h"
#include "measure/estimate.h"
#include "models/find_model.h"
#include "passes/pipelines.h"
#include "passes/registry.h"
#include "prune/prune_weights.h"
#include "runtime/session.h"
#include "study/pruners/make_pruner.h"
#include "study/samplers/make_sampler.h"
#include "study/study.h"
#include "tests/io/one_node.h"
#include "tests/passes/parse_ops.h"
#include "tests/support/run_program.h"
#include "tokenizers/tokenizer.h"
#include "train/registry.h"

namespace hone::test {
namespace {

TEST(OneFile, AFormatIsParsedPackedAndReadByKernels) {
  const Format format = parse_format("octet4");
  EXPECT_EQ(to_string(format), "octet4");
  const Tensor weights = Tensor::of<float>({2, 8}, {1, 2, 3, 4, 0, -1, -2, -4, -1, 0, 1, 2, 0, 0, 0, 4});
  const Tensor packed = pack(format, weights);
  EXPECT_TRUE(unpack(packed).same_bits(weights)) << "multiples of a quarter of the largest";
  Graph graph;
  const ValueId x = graph.add_input("x", {.dtype = DType::f32, .shape = {Dim::symbol("N"), 8}});
  graph.add_output(graph.emit(ops::get("linear"), {x, graph.add_constant("w", packed)}), "y");
  const std::map<std::string, Tensor> inputs{{"x", Tensor::of<float>({1, 8}, {1, 1, 1, 1, 1, 1, 1, 1})}};
  EXPECT_EQ(Session(graph, {}).run(inputs)[0].to_floats(), (std::vector<float>{3, 6}));
}

TEST(OneFile, AMetricIsParsedAndMeasured) {
  MetricSamples samples(parse_metric("brier"));
  samples.add({.samples = 1, .width = 2, .scores = std::vector<float>{3, 3}, .classes = std::vector<int64_t>{1}});
  EXPECT_DOUBLE_EQ(estimate(parse_metric("brier"), samples.finish()).value, 0.5);
}

TEST(OneFile, ATokenizerReadsItsFiles) {
  const Tokenizer tokenizer = Tokenizer::from_json(
      R"({"pre_tokenizer": {"type": "WhitespaceSplit"},
          "model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1, "word": 2}}})",
      "t.json");
  EXPECT_EQ(tokenizer.encode("a word  else", 0), (std::vector<int64_t>{1, 2, 0}));
}

TEST(OneFile, AnImporterAndAnExporterOpenAndWriteTheirFiles) {
  const TemporaryFolder folder;
  const Model model = load_model(folder.put("slopes.txt", "of a test\nhone-ramp\n0.5\n-2\n"));
  EXPECT_EQ(model.importer, "ramp");
  const std::map<std::string, Tensor> inputs{{"x", Tensor::of<float>({1, 2}, {4, 3})}};
  EXPECT_EQ(Session(model.graph, {}).run(inputs)[0].to_floats(), (std::vector<float>{2, -6}));
  const SavedModel saved = save_model(folder / "again.ramp", model.graph, model);
  EXPECT_THAT(saved.check, testing::HasSubstr("1 constants with the same bits; a short run gives the same bits"));
  EXPECT_EQ(content_of(folder / "again.ramp"), "hone-ramp\n0.5\n-2\n");
  EXPECT_THAT(
      error_of([&] { save_model(folder / "x.ramp", parse("%x : f32[2] = input \"x\"  %y = relu %x  return %y"), {}); }),
      testing::HasSubstr("x.ramp: a ramp has one product"));
  EXPECT_FALSE(std::filesystem::exists(folder / "x.ramp"));
  EXPECT_THAT(error_of([&] { load_model(folder.put("none", "text")); }), testing::HasSubstr("a .ramp file"));
}

TEST(OneFile, OfTwoImportersThatAreEquallySureTheFormatDecides) {
  const TemporaryFolder folder;
  const std::string both = folder.put("m", "GGUF\nhone-ramp\n3\n");
  EXPECT_THAT(error_of([&] { load_model(both); }), testing::AllOf(testing::HasSubstr("may be gguf or ramp; say which:"),
                                                                  testing::HasSubstr("--format ramp")));
  EXPECT_EQ(load_model(both, {}, "ramp").importer, "ramp");
  const ProgramResult asked = hone_program({"info", both});
  EXPECT_THAT(asked.err, testing::HasSubstr("--format ramp"));
  EXPECT_EQ(hone_program({"info", both, "--format", "ramp"}).exit_code, 0);
  EXPECT_THAT(hone_program({"info", both, "--format", "rampe"}).err, testing::HasSubstr("ramp"));
}

TEST(OneFile, AWeightLayoutIsWrittenAndReadBitForBit) {
  const TemporaryFolder folder;
  const Tensor weight = pack(parse_format("int8.channel"), Tensor::of<float>({2, 2}, {1, -3, 2, 0.5f}));
  const WrittenWeights written = writable_layout("byte-rows").write({{"a.weight", weight}});
  folder.put("config.json", Json{{"quantization_config", written.scheme}}.dump());
  write_safetensors(folder / "model.safetensors", written.tensors);
  HfDirectory directory(folder.path());
  EXPECT_TRUE(directory.weights().tensor("a.weight", {2, 2}).same_bits(weight));
  EXPECT_TRUE(directory.weights().unused().empty());
}

TEST(OneFile, AnOptimizerIsFoundAndMakesSteps) {
  const OptimizerDef* def = find_def(train::all(), "sign_descent");
  ASSERT_NE(def, nullptr);
  Graph graph = parse(
      "%g : f32[2] = input \"g\"  %w : f32[2] = param \"w\" {1, 2}  %rate : f32[] = input \"rate\"  "
      "%step : f32[] = input \"step\"  return");
  const std::span<const ValueId> inputs = graph.inputs();
  const Trained trained[] = {{.w = inputs[1], .gradient = inputs[0]}};
  GroupStep step(graph, inputs[2], inputs[3], 0, trained);
  def->step(step, def->options->defaults());
  Session session(graph, {});
  session.run(
      {{"g", Tensor::of<float>({2}, {-9, 0.1f})}, {"rate", Tensor::scalar(0.5f)}, {"step", Tensor::scalar(1.f)}});
  EXPECT_EQ(session.parameter("w").to_floats(), (std::vector<float>{1.5, 1.5}));
}

TEST(OneFile, AScoreSaysWhatGoes) {
  const Graph graph = parse(
      "%x : f32[1,4] = input  %w : f32[1,4] = const \"dense.weight\" {3, -5, 1, -2}  %y = linear %x, %w  return %y");
  const PrunedGraph pruned = prune_weights(graph, {.sparsity = 0.5, .method = "signed_value"}, {});
  EXPECT_EQ(pruned.graph.constant(pruned.graph.find_constant("dense.weight"))->to_floats(),
            (std::vector<float>{3, 0, 1, 0}));
}

TEST(OneFile, ASamplerAndAPrunerWorkOnAStudy) {
  Study study(open_storage("memory"), {}, make_sampler("middle", 0), make_pruner("impatient"));
  LiveTrial trial = study.ask();
  EXPECT_EQ(trial.suggest_real("x", 0, 8), 4);
  trial.report(1, 0);
  EXPECT_FALSE(trial.should_prune());
  trial.report(1, 1);
  EXPECT_TRUE(trial.should_prune());
}

TEST(OneFile, APassRunsByItsName) {
  const Graph graph = parse("%x : f32[2] = input  %a = neg %x  %b = neg %a  %c = relu %b  return %c");
  const Graph after = run_pass(run_pass(graph, "cancel_negations"), "remove_dead");
  verify(after);
  EXPECT_EQ(after.nodes().size(), 1u);
}

constexpr const char* kWithAWeight =
    "%x : f32[2] = input \"x\"  %w : f32[2,2] = const \"w\" {3, -3, 1, 0.5}  %b : f32[2] = const \"b\" {7, 8}  "
    "%y = linear %x, %w, %b  return %y";

TEST(OneFile, APassHasOptionsThatAreSetByTextsAndChecked) {
  PassContext context;
  context.options.set("clip_constants.limit", {"2"});
  context.options.set("clip_constants.biases", {});
  const Graph after = run_pass(parse(kWithAWeight), "clip_constants", context);
  EXPECT_EQ(after.constant(after.find_constant("w"))->to_floats(), (std::vector<float>{2, -2, 1, 0.5f}));
  EXPECT_EQ(after.constant(after.find_constant("b"))->to_floats(), (std::vector<float>{2, 2}));
  EXPECT_EQ(error_of([&] { context.options.set("clip_constants.limits", {"2"}); }),
            "pass clip_constants: unknown option limits; known: limit, biases. Did you mean limit?");
  EXPECT_EQ(error_of([&] { context.options.set("clip_constants.biases", {"2"}); }),
            "pass clip_constants: option biases: expected true or false, found \"2\"");
  EXPECT_EQ(error_of([&] { run_pass(parse(kWithAWeight), "cancel_negations", context); }),
            "options of pass clip_constants are given, and nothing that runs takes them");
}

TEST(OneFile, OptionsOfAPassAreFlagsAndKeysAndDocumented) {
  const TemporaryFolder folder;
  const std::string model = folder / "m.safetensors";
  save_artefact(model, parse(kWithAWeight));
  const auto printed = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{"print", model, "--pass", "clip_constants"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramResult result = hone_program(arguments);
    return result.exit_code == 0 ? result.out : result.err;
  };
  EXPECT_THAT(printed({}), testing::HasSubstr("{3, -3, 1, 0.5}"));
  EXPECT_THAT(printed({"--pass-option", "clip_constants.limit=2"}), testing::HasSubstr("{2, -2, 1, 0.5}"));
  const std::string toml = folder.put("o.toml", "[clip_constants]\nlimit = 1\nbiases = true\n");
  EXPECT_THAT(printed({"--config", toml}),
              testing::AllOf(testing::HasSubstr("{1, -1, 1, 0.5}"), testing::HasSubstr("{1, 1}")));
  EXPECT_THAT(printed({"--config", toml, "--pass-option", "clip_constants.limit=2"}),
              testing::AllOf(testing::HasSubstr("{2, -2, 1, 0.5}"), testing::HasSubstr("{2, 2}")))
      << "flags win";
  EXPECT_THAT(printed({"--pass-option", "clip_constants.limits=2"}), testing::HasSubstr("Did you mean limit?"));
  EXPECT_THAT(printed({"--config", folder.put("wrong.toml", "[clip_constants]\nlimit = \"high\"\n")}),
              testing::AllOf(testing::HasSubstr("wrong.toml: pass clip_constants"),
                             testing::HasSubstr("expected a number, found \"high\"")));
  const std::string documented = hone_program({"passes"}).out;
  EXPECT_THAT(documented, testing::HasSubstr("clip_constants.limit"));
  EXPECT_THAT(documented, testing::HasSubstr("the largest magnitude that constants keep"));
}

TEST(OneFile, AnOperatorOfOnnxIsImported) {
  const Graph graph = OneNode("Distance", 17).domain("hone.test", 1).input("f32[3]").input("f32[3]").graph();
  EXPECT_EQ(run(graph, {f32({3}, {1, 2, 3}), f32({3}, {2, 0, 3})})[0].to_floats(), (std::vector<float>{1, 2, 0}));
}

// As a user meets them: of the program that has them.
TEST(OneFile, TheProgramListsAndRunsThem) {
  EXPECT_THAT(hone_program({"formats"}).out, testing::HasSubstr("octet8"));
  EXPECT_THAT(hone_program({"--help"}).out, testing::HasSubstr("List what a model takes"));
  const TemporaryFolder folder;
  const std::string model = folder / "bottleneck.safetensors", small = folder / "small.safetensors";
  EXPECT_EQ(hone_program({"build", "bottleneck", "-o", model}).err, "");
  EXPECT_EQ(hone_program({"inputs", model}).out, "features : f32[B,24]\n");
  const ProgramResult quantized = hone_program({"quantize", model, "--to", "octet4", "-o", small});
  EXPECT_EQ(quantized.exit_code, 0) << quantized.err;
  EXPECT_EQ(hone_program({"run", small, "--batch", "2", "--no-pass", "cancel_negations"}).exit_code, 0);
}

TEST(OneFile, AReaderReadsWhatItRecognises) {
  const TemporaryFolder folder;
  const Dataset data = read_dataset(folder.put("a.ft", "__label__pos very good\n__label__neg bad\n"));
  EXPECT_THAT(data.texts, testing::ElementsAre("very good", "bad"));
  EXPECT_THAT(std::get<ClassLabels>(data.labels).ids, testing::ElementsAre(1, 0));
  EXPECT_THAT(error_of([&] { read_dataset(folder.put("b.ft", "good\n")); }),
              testing::HasSubstr("b.ft:1: expected __label__"));
  EXPECT_THAT(error_of([&] { read_dataset(folder / "a.ft", {.no_header = true}); }),
              testing::HasSubstr("means nothing for data of format fasttext, which takes classes"));
}

}  // namespace
}  // namespace hone::test
