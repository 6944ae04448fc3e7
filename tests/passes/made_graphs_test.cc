// A graph for every pass that the pass changes: graphs/NAME.txt, or extensions/passes/NAME.txt for a pass that lies
// there. Where the result computes something else on purpose, that stands as a graph of its own under `computes:`.
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "base/atomic_file.h"
#include "base/registry.h"
#include "passes/registry.h"
#include "tests/passes/parse_ops.h"
#include "tests/passes/pass_promises.h"
#include "tests/support/paths.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

const fs::path kFolders[] = {std::string(test::kSourceDir) + "/tests/passes/graphs",
                             std::string(test::kSourceDir) + "/tests/extensions/passes"};

struct MadeGraph {
  Graph graph;
  std::optional<Graph> computes;
};

MadeGraph read_made(const fs::path& file) {
  const std::string text = read_file(file.string()), mark = "\ncomputes:\n";
  const size_t end = text.find(mark);
  const auto parsed = [&](const std::string& part) { return parse_graph(part, test::op_context(), file.string()); };
  MadeGraph made{parsed(text.substr(0, end)), std::nullopt};
  if (end != std::string::npos) made.computes = parsed(text.substr(end + mark.size()));
  return made;
}

std::optional<MadeGraph> made_for(std::string_view pass) {
  for (const fs::path& folder : kFolders)
    if (const fs::path file = folder / (std::string(pass) + ".txt"); fs::exists(file)) return read_made(file);
  return std::nullopt;
}

// With constants whole, so that a change of any element shows.
std::string text_of(const Graph& graph) { return print(graph, {.max_inline_elements = int64_t{1} << 20}); }

// Weights in int4, as quantizing and folding leave them.
Graph with_rounded_weights(const Graph& graph) {
  return run_pass(run_pass(graph, "quantize", {.options = FormatRules{.to = "int4"}}), "fold_fake_quant");
}

// Means of each channel, the last axis, over all its rows.
std::vector<double> channel_means(const Tensor& x, const std::vector<double>& values) {
  const auto channels = static_cast<size_t>(x.dim(-1));
  std::vector<double> means(channels);
  for (size_t i = 0; i < values.size(); ++i)
    means[i % channels] += values[i] / static_cast<double>(values.size() / channels);
  return means;
}

// correct_bias promises the means of each layer's output on the inputs of the statistics; all outputs are layers' here.
// They are held to the means of the outputs' bounds: the (2 k + 10) roundings that these allow for a sum of k = 4
// products are more than the n + 1 = 9 of a mean input, of which only a part counts.
TEST(MadeGraphs, CorrectBiasKeepsTheMeansThatRoundingMoved) {
  const std::optional<MadeGraph> made = made_for("correct_bias");
  ASSERT_TRUE(made);
  const Graph &original = made->graph, before = with_rounded_weights(original);
  Philox rng(3);
  const std::map<std::string, Tensor> inputs = test::random_inputs(original, rng);
  const Statistics statistics = test::layer_statistics(original, inputs);
  const Graph after = run_pass(before, "correct_bias",
                               test::context_for(*find_def(passes::all(), "correct_bias"), original, statistics));
  const auto bounded = [&](const Graph& graph) {
    return test::bounded_outputs(graph, inputs, test::bounds_after_a_pass(original));
  };
  const std::vector<test::Bounded> want = bounded(original), moved = bounded(before), got = bounded(after);
  for (size_t i = 0; i < want.size(); ++i) {
    const Tensor& x = want[i].value;
    const std::vector<double> mean = channel_means(x, x.to_doubles()), error = channel_means(x, want[i].error),
                              was = channel_means(x, moved[i].value.to_doubles()),
                              is = channel_means(x, got[i].value.to_doubles()),
                              own_error = channel_means(x, got[i].error);
    for (size_t c = 0; c < mean.size(); ++c) {
      EXPECT_LE(std::abs(is[c] - mean[c]), error[c] + own_error[c]) << before.outputs()[i].label;
      EXPECT_GT(std::abs(was[c] - mean[c]), 100 * (error[c] + own_error[c])) << "nothing to correct";
    }
  }
}

TEST(MadeGraphs, EveryPassChangesItsOwnAndGivesWhatItPromises) {
  for (const PassDef* pass : passes::all()) {
    const std::string_view name = pass->name;
    SCOPED_TRACE(name);
    const std::optional<MadeGraph> made = made_for(name);
    if (!made) {
      ADD_FAILURE() << "no graph shows what " << name << " does: write one that it changes, as text, into "
                    << (kFolders[0] / name).string() << ".txt (" << kFolders[1].string()
                    << " for a pass that lies there); if it takes options, tests/passes/pass_context.h gives them";
      continue;
    }
    if (name == "correct_bias") continue;  // above
    const Graph after = test::run_verified(*pass, made->graph);
    EXPECT_NE(text_of(after), text_of(made->graph)) << name << " leaves the graph that was made for it as it is";
    if (made->computes) test::expect_kept_outputs(*made->computes, after);
    else test::expect_promise(*pass, made->graph, after);
  }
}

TEST(MadeGraphs, AreKeptByEveryOtherPass) {
  for (const PassDef* of : passes::all()) {
    const std::optional<MadeGraph> made = made_for(of->name);
    if (!made) continue;  // a failure above
    SCOPED_TRACE(std::string("the graph of ") + of->name);
    for (const PassDef* pass : passes::all()) {
      if (pass == of) continue;
      SCOPED_TRACE(pass->name);
      test::expect_promise(*pass, made->graph, test::run_verified(*pass, made->graph));
    }
    test::expect_kept_outputs(made->graph, canonicalise(made->graph, {.disabled = {}, .verify = true, .after = {}}));
  }
}

TEST(MadeGraphs, AreOfPassesThatThereAre) {
  for (const fs::directory_entry& entry : fs::directory_iterator(kFolders[0]))
    EXPECT_TRUE(find_def(passes::all(), entry.path().stem().string()))
        << entry.path() << " is of no pass: rename it with its pass, or remove it";
}

// The largest number of a graph's constants.
std::pair<ValueId, size_t> largest_element(const Graph& graph) {
  std::pair<ValueId, size_t> at{kNone, 0};
  double largest = 0;
  for (ValueId id : graph.constants()) {
    if (graph.type(id).dtype != DType::f32 || graph.constant(id)->is_packed()) continue;
    const std::vector<double> values = graph.constant(id)->to_doubles();
    for (size_t i = 0; i < values.size(); ++i)
      if (std::isfinite(values[i]) && std::abs(values[i]) > largest) largest = std::abs(values[i]), at = {id, i};
  }
  return at;
}

// What these tests would let pass: a wrong factor, a forgotten channel and the like are larger by far.
TEST(MadeGraphs, AConstantThatIsOffByAThousandthIsSeen) {
  int changed = 0;
  for (const PassDef* pass : passes::all()) {
    SCOPED_TRACE(pass->name);
    const std::optional<MadeGraph> made = made_for(pass->name);
    if (!made) continue;
    const auto [id, element] = largest_element(made->graph);
    if (id == kNone) continue;
    Graph off = made->graph;
    Tensor tensor = *off.constant(id);
    tensor.mutable_as<float>()[element] *= 1 + 0x1p-10f;
    off.set_constant(id, tensor);
    EXPECT_NE(test::output_fault(made->graph, off), "") << print(made->graph);
    ++changed;
  }
  EXPECT_GT(changed, 20);
}

}  // namespace
}  // namespace hone
