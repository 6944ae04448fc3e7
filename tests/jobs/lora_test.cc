// hone lora and hone train --lora: adapters trained alone, fused, written for PEFT and read back, and refused where
// they do not fit.
#include "jobs/lora.h"

#include <cmath>

#include "base/atomic_file.h"
#include "base/philox.h"
#include "base/registry.h"
#include "io/peft.h"
#include "ops/calls/linear.h"
#include "ops/calls/transcendental.h"
#include "passes/pipelines.h"
#include "runtime/session.h"
#include "tests/jobs/file_training.h"
#include "tests/jobs/jobs_fixture.h"
#include "tests/support/error_of.h"
#include "train/loop/trainer.h"
#include "train/lora.h"
#include "train/registry.h"
#include "views/lora.h"

namespace hone {
namespace {

using test::error_of;
using test::FileTraining;
using test::train_file;
using testing::HasSubstr;

class AdaptersTest : public JobsTest {
 protected:
  FileTraining lora_options(const std::string& from, const std::string& name) const {
    FileTraining options;
    options.model = from;
    options.data = put_texts({});
    options.output = folder / name;
    options.training.epochs = 4;
    options.training.batch = 16;
    options.training.rate = 1e-2;
    options.training.lora = {"op:linear", "word_embeddings"};
    options.training.lora_rank = 3;
    options.training.lora_alpha = 6;
    return options;
  }

  static Tensor run(const Graph& graph) {
    Session session(graph, {.optimise = 0});
    NamedTensors inputs;
    for (ValueId id : graph.arguments()) {
      std::vector<int64_t> values = {5, 9, 17, 30, 41, 6, 7, 8};
      if (graph.value(id).label != "input_ids") std::ranges::fill(values, graph.value(id).label == "attention_mask");
      inputs[graph.value(id).label] = Tensor::of<int64_t>({2, 4}, values);
    }
    return session.run(inputs)[0];
  }

  static void expect_close(const Tensor& a, const Tensor& b, double bound) {
    const std::vector<double> x = a.to_doubles(), y = b.to_doubles();
    ASSERT_EQ(x.size(), y.size());
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], bound);
  }
};

template <class Result>
void write(const Model& source, const Result& result, const std::string& output) {
  save_model(output, result.graph, source);
}

TEST_F(AdaptersTest, TrainingTouchesAdaptersAndTheLastLayerOnly) {
  const FileTraining options = lora_options(model, "adapted.safetensors");
  const TrainedModel trained = train_file(options);
  EXPECT_GT(trained.outcome.best->metric, 0.9);
  const Graph before = load_model(model).graph, after = load_model(options.output).graph;
  for (ValueId id : before.constants())
    if (const std::string& label = before.value(id).label; !label.empty()) {
      EXPECT_TRUE(before.constant(id)->same_bits(*after.constant(after.find_constant(label)))) << label;
    }
  for (const Adapter& adapter : adapters_of(after)) {
    EXPECT_FALSE(after.constant(adapter.b)->same_bits(Tensor(DType::f32, after.constant(adapter.b)->shape())));
    EXPECT_FLOAT_EQ(adapter.scaling, 2);
  }
  EXPECT_EQ(adapters_of(after).size(), 13);  // six linears of each layer, and the table

  write(load_model(options.output), fuse_adapters(load_model(options.output), {}), folder / "fused.safetensors");
  const Graph fused = load_model(folder / "fused.safetensors").graph;
  EXPECT_FALSE(has_adapters(fused));
  expect_close(run(after), run(fused), 1e-4);
}

TEST_F(AdaptersTest, WeightsThatNoAdapterStandsBesideAreNamed) {
  const InsertedAdapters inserted =
      insert_adapters(load_model(put_graph("sliced.safetensors", kSliced)), {.rule = {"op:linear"}, .rank = 1});
  EXPECT_THAT(inserted.passed_over,
              testing::Contains("1 weight stays without adapters: pair [4,2] (linear reads it behind slice)"));
}

TEST_F(AdaptersTest, AreWrittenForPeftAndReadBackToTheBit) {
  for (const bool dora : {false, true}) {
    SCOPED_TRACE(dora);
    const std::string name = dora ? "dora" : "plain";
    FileTraining options = lora_options(model, name + ".safetensors");
    options.training.epochs = 1;
    options.training.lora_dropout = 0.25;
    options.training.dora = dora;
    if (dora) options.training.lora = {"query", "output.dense"};
    train_file(options);
    const Model adapted = load_model(options.output);
    // A sentence encoder has no last layer, so that PEFT would leave this one out.
    EXPECT_THAT(error_of([&] { export_adapters(adapted, {.folder = folder / "none", .prefix = ""}); }),
                HasSubstr("--prefix bert."));
    export_adapters(adapted, {.folder = folder / name, .prefix = "bert."});
    const PeftAdapters peft = read_peft(folder / name);
    EXPECT_EQ(peft.dropout, 0.25);
    EXPECT_EQ(peft.saved.size(), 2);

    // The head is new, so that the model which adapters are put into has to have one.
    const AdapterImport import{.folder = folder / name};
    EXPECT_THAT(error_of([&] { import_adapters(load_model(model), import); }),
                HasSubstr("classifier.weight: the model has no such tensor"));
    FileTraining plain = options;
    plain.output = folder / (name + "_head.safetensors");
    plain.training.lora.clear();
    plain.training.lora_rank = 8, plain.training.lora_alpha = plain.training.lora_dropout = 0;
    plain.training.dora = false;
    plain.training.rule = {"^embeddings|^encoder=frozen"};
    train_file(plain);
    const std::string output = folder / "back.safetensors";
    write(load_model(plain.output), import_adapters(load_model(plain.output), import), output);
    const Model back = load_model(output);
    EXPECT_TRUE(run(adapted.graph).same_bits(run(back.graph)));

    AdapterImport alone = import;
    alone.adapters_only = true;
    write(load_model(model), import_adapters(load_model(model), alone), output);
    EXPECT_EQ(adapters_of(load_model(output).graph).size(), adapters_of(adapted.graph).size());
  }
}

TEST_F(AdaptersTest, AreTrainedOnWhereAModelHasSome) {
  FileTraining options = lora_options(model, "first.safetensors");
  options.training.lora = {"query"};
  options.training.dora = true;
  options.training.epochs = 1;
  train_file(options);
  FileTraining more = options;
  more.model = options.output;
  more.output = folder / "second.safetensors";
  EXPECT_THAT(error_of([&] { train_file(more); }), HasSubstr("has adapters already"));
  more.training.lora.clear();
  EXPECT_THAT(error_of([&] { train_file(more); }), HasSubstr("options of adapters are given"));
  more.training.lora_rank = 8, more.training.lora_alpha = 0, more.training.dora = false;
  train_file(more);
  const Graph first = load_model(options.output).graph, second = load_model(more.output).graph;
  const auto same = [&](const std::string& name) {
    return first.constant(first.find_constant(name))->same_bits(*second.constant(second.find_constant(name)));
  };
  EXPECT_FALSE(same("encoder.layer.0.attention.self.query.lora_A.weight"));
  EXPECT_FALSE(same("encoder.layer.0.attention.self.query.lora_magnitude_vector"));
  EXPECT_TRUE(same("encoder.layer.0.attention.self.query.weight"));
  write(load_model(more.output), fuse_adapters(load_model(more.output), {}), folder / "fused.safetensors");
  expect_close(run(second), run(load_model(folder / "fused.safetensors").graph), 1e-4);
}

TEST_F(AdaptersTest, PackedWeightsAreTrainedBesideAndFusedWithLeave) {
  const std::string packed = quantized("mxint4");
  FileTraining options = lora_options(packed, "adapted.safetensors");
  const TrainedModel trained = train_file(options);
  EXPECT_GT(trained.outcome.best->metric, 0.8);
  const Model adapted = load_model(options.output);
  for (const Adapter& adapter : adapters_of(adapted.graph))
    EXPECT_TRUE(adapted.graph.constant(adapter.weight)->is_packed()) << adapter.layer;
  EXPECT_THAT(error_of([&] { fuse_adapters(adapted, {}); }), HasSubstr("--requantize"));
  const FusedAdapters fused = fuse_adapters(adapted, {.requantize = true});
  EXPECT_EQ(fused.packed, 13);
  const std::string output = folder / "fused.safetensors";
  const Record record = view_of(fused, adapted, output, save_model(output, fused.graph, adapted));
  EXPECT_THAT(record.findings, testing::Contains(HasSubstr("13 packed weights were rounded again")));
  EXPECT_FALSE(is_empty(cell(table_of(record, "adapters"), "kept", 0)));
}

// What a step holds of the weights beside which it trains: their planes, laid out for both directions, and no f32 of
// them.
TEST_F(AdaptersTest, AStepBesidePackedWeightsHoldsNoUnpackedOnes) {
  constexpr int64_t kWidth = 256, kLayers = 4;
  Graph plain;
  ValueId x = plain.add_input("x", {.dtype = DType::f32, .shape = {Dim::symbol("B"), kWidth}});
  Philox random(5);
  for (int64_t l = 0; l <= kLayers; ++l) {
    Tensor weight(DType::f32, {l == kLayers ? 2 : kWidth, kWidth});
    for (float& v : weight.mutable_as<float>()) v = 0.06f * random.normal();
    x = ops::linear(plain, {.x = x, .w = plain.add_constant(fmt::format("layer.{}.weight", l), weight)});
    if (l < kLayers) x = ops::tanh(plain, {x});
  }
  plain.add_output(x, "logits");
  const FormatRules rules{.rule = {R"(layer\.[0-3]=mxint4)"}};
  const Graph packed = run_pass(run_pass(plain, "quantize", {.options = rules}), "fold_fake_quant");
  const auto memory = [](const Graph& graph) {
    AdaptedModel adapted = adapt_for_training(canonicalise_for_training(graph), {.rule = {"op:linear"}, .rank = 4});
    const OptimizerDef& sgd = *find_def(train::all(), "sgd");
    Trainer trainer(make_train_graphs(adapted.graph, {.groups = {.rules = adapted.rules},
                                                      .optimizer = &sgd,
                                                      .optimizer_options = sgd.options->defaults()}),
                    {});
    return trainer.plan({.step = {{"B", 8}}});
  };
  const TrainingMemory of_plain = memory(plain), of_packed = memory(packed);
  EXPECT_LE(of_packed.values, of_plain.values);
  EXPECT_LT(static_cast<double>(of_packed.constants), 0.25 * static_cast<double>(of_plain.constants));
  const auto of_tensors = [](const TrainingMemory& m) { return static_cast<double>(m.total() - m.code); };
  EXPECT_LT(of_tensors(of_packed), 0.45 * of_tensors(of_plain));
}

TEST_F(AdaptersTest, OfAnotherModelAreRefusedByName) {
  write(load_model(model), insert_adapters(load_model(model), {.rule = {"query"}, .rank = 2}),
        folder / "a.safetensors");
  export_adapters(load_model(folder / "a.safetensors"), {.folder = folder / "a", .prefix = ""});
  const std::string other = put_graph("other.safetensors",
                                      "%x : f32[B,3] = input \"x\"\n%w : f32[2,3] = const \"dense.weight\" "
                                      "{1, 2, 3, 4, 5, 6}\n%y = linear %x, %w\nreturn %y as \"y\"");
  const AdapterImport import{.folder = folder / "a"};
  const std::string error = error_of([&] { import_adapters(load_model(other), import); });
  EXPECT_THAT(error, HasSubstr("2 of 2 adapters do not fit the model"));
  EXPECT_THAT(error, HasSubstr("encoder.layer.0.attention.self.query: the model has no such layer"));
  EXPECT_THAT(error_of([&] { export_adapters(load_model(model), {.folder = folder / "c"}); }),
              HasSubstr("has no adapters"));
  EXPECT_THAT(error_of([&] { export_adapters(load_model(folder / "a.safetensors"), {.folder = folder / "a"}); }),
              HasSubstr("is there already"));
}

TEST_F(AdaptersTest, ModulesAreFoundUnderThePrefixOfOtherPrograms) {
  write(load_model(model), insert_adapters(load_model(model), {.rule = {"query"}, .rank = 2}),
        folder / "a.safetensors");
  export_adapters(load_model(folder / "a.safetensors"), {.folder = folder / "a", .prefix = "bert."});
  EXPECT_TRUE(read_peft(folder / "a").adapters[0].layer.starts_with("bert.encoder."));
  write(load_model(model), import_adapters(load_model(model), {.folder = folder / "a"}), folder / "b.safetensors");
  EXPECT_EQ(adapters_of(load_model(folder / "b.safetensors").graph).size(), 2);
}

// A folder of PEFT's with one thing wrong each.
TEST_F(AdaptersTest, DamagedFoldersAreRefusedWithTheirFile) {
  write(load_model(model), insert_adapters(load_model(model), {.rule = {"layer.0.*query"}, .rank = 2}),
        folder / "a.safetensors");
  export_adapters(load_model(folder / "a.safetensors"), {.folder = folder / "a", .prefix = ""});
  const std::string config = folder / "a/adapter_config.json";
  const std::string whole = read_file(config);
  const auto with = [&](const char* key, const Json& value) {
    Json changed = parse_json(whole, config);
    changed[key] = value;
    write_file(config, changed.dump());
    return error_of([&] { read_peft(folder / "a"); });
  };
  EXPECT_THAT(with("peft_type", "IA3"), HasSubstr("of type IA3; only LORA"));
  EXPECT_THAT(with("fan_in_fan_out", true), HasSubstr("fan_in_fan_out"));
  EXPECT_THAT(with("lora_bias", true), HasSubstr("lora_bias"));
  EXPECT_THAT(with("lora_dropout", 2), HasSubstr("lora_dropout is 2"));
  EXPECT_THAT(with("lora_alpha", "much"), HasSubstr("\"lora_alpha\" has an unexpected value"));
  EXPECT_THAT(with("use_dora", true), HasSubstr("has no lora_magnitude_vector"));
  EXPECT_THAT(with("alpha_pattern", {{"(", 2}}), HasSubstr("missing )"));
  EXPECT_THAT(with("alpha_pattern", {{"query", "x"}}), HasSubstr("alpha_pattern.query is \"x\""));
  write_file(config, "[1]");
  EXPECT_THAT(error_of([&] { read_peft(folder / "a"); }), HasSubstr("expected an object"));
  write_file(config, whole);
  const std::string tensors = folder / "a/adapter_model.safetensors";
  const auto of = [&](const std::vector<NamedTensor>& named) {
    write_safetensors(tensors, named);
    return error_of([&] { read_peft(folder / "a"); });
  };
  const Tensor a(DType::f32, {2, 32}), b(DType::f32, {32, 2});
  EXPECT_THAT(of({{"q.lora_A.weight", a}}), HasSubstr("does not begin with base_model.model."));
  EXPECT_THAT(of({{"base_model.model.q.lora_A.weight", a}}), HasSubstr("q has no B"));
  EXPECT_THAT(of({{"base_model.model.q.weight", a}}), HasSubstr("holds no adapters"));
  EXPECT_THAT(of({{"base_model.model.q.lora_A.weight", Tensor(DType::i32, {2, 2})}}), HasSubstr("floating numbers"));
  EXPECT_THAT(
      of({{"base_model.model.q.lora_A.weight", Tensor(DType::f32, {2})}, {"base_model.model.q.lora_B.weight", b}}),
      HasSubstr("q has matrices of f32[2]"));
  EXPECT_THAT(of({{"base_model.model.q.lora_embedding_A", a}, {"base_model.model.q.lora_B.weight", b}}),
              HasSubstr("expected lora_A.weight and lora_B.weight, or"));
  write_file(tensors, "no tensors");
  EXPECT_THAT(error_of([&] { read_peft(folder / "a"); }), HasSubstr("adapter_model.safetensors"));
  std::filesystem::remove(tensors);
  EXPECT_THAT(error_of([&] { read_peft(folder / "a"); }), HasSubstr("has no adapter_model.safetensors"));
  EXPECT_THAT(error_of([&] { read_peft(folder / "none"); }), HasSubstr("not a folder"));
}

}  // namespace
}  // namespace hone
