// Graphs that keep state, in each verb: a recurrent cell, and a cache that is full after two runs. Each run that a verb
// makes begins with the state that the graph says.
#include <fmt/ranges.h>

#include "base/json.h"
#include "base/philox.h"
#include "io/artefact.h"
#include "io/numpy.h"
#include "ops/evaluate.h"
#include "tests/cli/cli_fixture.h"
#include "tests/passes/parse_ops.h"

namespace hone {
namespace {

using testing::HasSubstr;

std::string numbers(int64_t count, uint64_t seed) {
  Philox random(seed);
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(random.normal());
  return fmt::format("{}", fmt::join(values, ", "));
}

// As many steps as there are rows, from one state.
std::string cell() {
  return fmt::format(R"(graph cell {{
  %x : f32[B,8] = input "features"
  %h : f32[1,8] = state "h" {{ {} }}
  %u : f32[8,8] = const "cell.weight" {{ {} }}
  %v : f32[3,8] = const "head.weight" {{ {} }}
  %a = linear %x, %u
  %b = add %a, %h
  %c = tanh %b
  %next = reduce_mean %c {{axes=[0], keepdims=1}}
  %y = linear %c, %v
  update %h = %next
  return %y as "logits"
}})",
                     numbers(8, 1), numbers(64, 2), numbers(24, 3));
}

// Four rows a run, into pages for eight.
std::string cache() {
  return fmt::format(R"(graph cache {{
  %x : f32[1,4,8] = input "features"
  %kv : f32[4,2,8] = state "kv" {{ {} }}
  %lengths : i64[1] = state "lengths" {{0}}
  %table : i64[1,4] = const {{0, 1, 2, 3}}
  %four : i64[] = const {{4}}
  %u : f32[8,8] = const "rows.weight" {{ {} }}
  %v : f32[3,8] = const "head.weight" {{ {} }}
  %rows = linear %x, %u
  %kv2 = cache_append %kv, %rows, %table, %lengths
  %lengths2 = add %lengths, %four
  %read = gather %kv2, %table
  %pooled = reduce_mean %read {{axes=[1,2], keepdims=0}}
  %y = linear %pooled, %v
  update %kv = %kv2
  update %lengths = %lengths2
  return %y as "logits"
}})",
                     fmt::join(std::vector<int>(64), ", "), numbers(64, 4), numbers(24, 5));
}

class StateCli : public CliTest, public testing::WithParamInterface<const char*> {
 protected:
  StateCli() {
    save_artefact(net, graph);
    put("rows.npz", {{"features", features}, {"label", labels()}});
    put("calib.npz", {{"features", features}});
  }

  bool is_cell() const { return std::string(GetParam()) == "cell"; }
  void put(const std::string& name, const std::vector<NamedTensor>& arrays) const { write_npz(folder / name, arrays); }
  Tensor labels() const {
    std::vector<int64_t> classes;
    for (int i = 0; i < kRows; ++i) classes.push_back(i % 3);
    return Tensor::of<int64_t>({kRows}, classes);
  }
  Tensor made_up() const {
    std::vector<int64_t> shape = is_cell() ? std::vector<int64_t>{kRows, 8} : std::vector<int64_t>{kRows, 4, 8};
    Philox random(6);
    std::vector<float> values;
    for (int64_t i = 0; i < element_count(shape); ++i) values.push_back(random.normal());
    return Tensor::from_floats(DType::f32, shape, values);
  }
  // Of the graph that the file holds: the state of each, and what each begins as.
  void expect_state_in(const std::string& file) const {
    const Graph written = load_artefact(file).graph;
    int states = 0;
    for (ValueId id : graph.inputs()) {
      const Value& before = graph.value(id);
      if (before.role != InputRole::state) continue;
      ++states;
      for (ValueId other : written.inputs())
        if (const Value& after = written.value(other); after.label == before.label) {
          EXPECT_EQ(after.role, InputRole::state);
          EXPECT_TRUE(after.initial && after.initial->same_bits(*before.initial)) << before.label;
          EXPECT_NE(written.update_of(other), kNone) << before.label;
          --states;
        }
    }
    EXPECT_EQ(states, 0) << "state is missing";
  }
  Json json_of(std::vector<std::string> command) const {
    command.push_back("--json");
    const ProgramResult result = hone_program(command);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.exit_code == 0 ? parse_json(result.out, "stdout") : Json();
  }

  static constexpr int64_t kRows = 24;
  const Graph graph = test::parse(is_cell() ? cell() : cache());
  const Tensor features = made_up();
  std::string net = folder / "net.safetensors", data = folder / "rows.npz", calib = folder / "calib.npz",
              small = out + "/small.safetensors";
};

INSTANTIATE_TEST_SUITE_P(Graphs, StateCli, testing::Values("cell", "cache"),
                         [](const testing::TestParamInfo<const char*>& info) { return std::string(info.param); });

TEST_P(StateCli, RunsFromWhatTheGraphSays) {
  expect_done(hone_program({"run", net, "--output-dir", out}));
  expect_done(hone_program({"run", net, "--profile", "--check-finite"}));
  const ProgramResult again = hone_program({"run", net, "-O0", "--output-dir", folder / "again"});
  expect_done(again);
  const std::vector<float> a = read_npy(out + "/logits.npy").to_floats(),
                           b = read_npy(folder / "again/logits.npy").to_floats();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5);
}

// By other state than the graph's, where a file gives it.
TEST_P(StateCli, RunsFromWhatIsGiven) {
  if (!is_cell()) {
    write_npy(folder / "x.npy", Tensor(DType::f32, {1, 4, 8}));
    write_npy(folder / "full.npy", Tensor::of<int64_t>({1}, {8}));
    expect_refusal(hone_program({"run", net, "--input", "features=" + folder / "x.npy", "--input",
                                 "lengths=" + folder / "full.npy"}),
                   {"sequence 0"});
    return;
  }
  write_npy(folder / "x.npy", Tensor(DType::f32, {1, 8}));
  write_npy(folder / "h.npy", Tensor(DType::f32, {1, 8}));
  expect_done(hone_program({"run", net, "--input", "features=" + folder / "x.npy", "--input", "h=" + folder / "h.npy",
                            "--output-dir", out}));
  for (float value : read_npy(out + "/logits.npy").to_floats()) EXPECT_EQ(value, 0);
}

// A row is judged alone: what is right for it is the class that the graph finds from its first state.
TEST_P(StateCli, IsEvaluatedRowByRow) {
  std::vector<int64_t> classes;
  const int64_t width = features.elements() / kRows;
  const std::vector<float> values = features.to_floats();
  for (int64_t row = 0; row < kRows; ++row) {
    std::vector<int64_t> shape = features.shape();
    shape[0] = 1;
    const Tensor one = Tensor::from_floats(DType::f32, shape, std::span(values).subspan(row * width, width));
    const std::vector<float> scores = evaluate(graph, {{"features", one}})[0].to_floats();
    classes.push_back(std::ranges::max_element(scores) - scores.begin());
  }
  put("right.npz", {{"features", features}, {"label", Tensor::of<int64_t>({kRows}, classes)}});
  const Json json = json_of({"evaluate", net, "--data", folder / "right.npz"});
  ASSERT_TRUE(json.contains("evaluation")) << json.dump();
  EXPECT_EQ(json["evaluation"][0]["accuracy"], 1.0) << json.dump();
}

TEST_P(StateCli, IsQuantizedWithData) {
  expect_done(
      hone_program({"quantize", net, "--to", "int8", "--activations", "int8@min-max", "--calib", calib, "-o", small}));
  expect_state_in(small);
  expect_done(hone_program(
      {"quantize", net, "--to", "int4", "--method", "gptq", "--calib", calib, "-o", out + "/gptq.safetensors"}));
  expect_state_in(out + "/gptq.safetensors");
}

TEST_P(StateCli, IsSqueezed) {
  expect_done(hone_program({"squeeze", net, "--to", "int8", "-o", small, "--seconds", "0.1", "--data", data}));
  expect_state_in(small);
}

TEST_P(StateCli, IsProfiled) { expect_done(hone_program({"profile", net, "--seconds", "0.1"})); }

TEST_P(StateCli, IsTimedAndMeasuredAlone) {
  const Json json = json_of({"bench", net, net, "--seconds", "0.1", "--data", data});
  ASSERT_EQ(json["results"].size(), 2u) << json.dump();
  EXPECT_GT(json["results"][0]["peak_bytes"].get<double>(), 0);
}

TEST_P(StateCli, IsPruned) {
  expect_done(hone_program({"prune", net, "--sparsity", "0.5", "--method", "wanda", "--data", calib, "-o", small}));
  expect_state_in(small);
  expect_done(hone_program(
      {"prune", net, "--sparsity", "0.5", "--method", "sparsegpt", "--data", calib, "-o", out + "/gpt.safetensors"}));
}

TEST_P(StateCli, IsSwept) {
  expect_done(hone_program({"sweep", net, "--formats", "int4,int8", "--data", calib, "-o", folder / "sweep"}));
}

TEST_P(StateCli, IsSearched) {
  const std::string config = folder.put("search.toml", R"(
model = "net.safetensors"
data = "rows.npz"
objective = "accuracy"
budget = ["latency<=1000"]
trials = 2
[parameters]
"quantize.to" = ["int4", "int8"]
)");
  expect_done(hone_program({"search", "--config", config, "-o", small}));
  expect_state_in(small);
}

// Texts do not depend on those before them.
TEST_P(StateCli, IsASentenceEncoder) {
  expect_done(hone_program({"quantize", model, "--to", "int8", "-o", folder / "bert.safetensors"}));
  const Artefact encoder = load_artefact(folder / "bert.safetensors");
  const Graph words = test::parse(fmt::format(R"(graph words {{
  %ids : i64[B,S] = input "input_ids"
  %mask : i64[B,S] = input "attention_mask"
  %h : f32[1,4] = state "h" {{1, 2, 3, 4}}
  %words : f32[256,4] = const "words" {{ {} }}
  %each = gather %words, %ids
  %mean = reduce_mean %each {{axes=[1], keepdims=0}}
  %y = add %mean, %h
  %next = reduce_mean %y {{axes=[0], keepdims=1}}
  update %h = %next
  return %y as "sentence_embedding"
}})",
                                              numbers(1024, 7)));
  save_artefact(net, words, encoder.files);
  const std::string once = out + "/once.npy", twice = out + "/twice.npy";
  expect_done(hone_program({"embed", net, "--text", "a cup", "-o", once}));
  expect_done(hone_program({"embed", net, "--text", "the cup", "--text", "a cup", "--batch", "1", "-o", twice}));
  const std::vector<float> alone = read_npy(once).to_floats(), second = read_npy(twice).to_floats();
  ASSERT_EQ(alone.size(), 4u);
  ASSERT_EQ(second.size(), 8u);
  EXPECT_EQ(alone, std::vector<float>(second.begin() + 4, second.end()));
}

TEST_P(StateCli, IsExplainedAndExamined) {
  for (const char* verb : {"explain", "info", "doctor", "memory"}) {
    SCOPED_TRACE(verb);
    expect_done(hone_program({verb, net}));
  }
}

// ONNX keeps nothing from run to run: callers give what the run before gave.
TEST_P(StateCli, IsPairsOfInputsAndOutputsInOnnx) {
  const std::string file = out + "/net.onnx";
  if (!is_cell()) return expect_refusal(hone_program({"export", net, "-o", file}), {"cache_append"});
  expect_done(hone_program({"export", net, "-o", file}));
  const ProgramResult info = hone_program({"info", file});
  EXPECT_THAT(info.out, HasSubstr("h.next"));
  write_npy(folder / "x.npy", Tensor(DType::f32, {1, 8}));
  write_npy(folder / "h.npy", Tensor(DType::f32, {1, 8}));
  expect_done(hone_program({"run", file, "--input", "features=" + folder / "x.npy", "--input", "h=" + folder / "h.npy",
                            "--output-dir", out}));
  for (float value : read_npy(out + "/h.next.npy").to_floats()) EXPECT_EQ(value, 0);
}

}  // namespace
}  // namespace hone
