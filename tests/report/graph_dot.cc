#include "report/graph_dot.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/stop.h"
#include "ops/registry.h"
#include "report/dot_svg.h"
#include "report/graph_blocks.h"
#include "report/graph_drawing.h"
#include "report/graph_layers.h"
#include "tests/report/xml_check.h"

namespace hone {
namespace {

// layers x (linear, relu, add of the layer's input), then a softmax; the last layer's weights are packed.
Graph residual_network(int layers) {
  Graph g;
  g.name = "small \"net\"";
  ValueId x = g.add_input("x", {.dtype = DType::f32, .shape = {Dim::symbol("B"), 32}, .format = std::nullopt});
  for (int i = 0; i < layers; ++i) {
    const Tensor plain(DType::f32, {32, 32});
    const Tensor weight = i + 1 == layers ? pack(parse_format("mxint8"), plain) : plain;
    const ValueId w = g.add_constant("encoder.layer." + std::to_string(i) + ".dense.weight", weight);
    const ValueId h = g.emit(ops::get("relu"), {g.emit(ops::get("linear"), {x, w})});
    const ValueId scale = g.add_constant("encoder.layer." + std::to_string(i) + ".scale", Tensor(DType::f32, {32}));
    x = g.emit(ops::get("mul"), {g.emit(ops::get("add"), {h, x}), scale});
  }
  g.add_output(g.emit(ops::get("relu"), {x}), "y");
  return g;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(GraphLayers, ALayerIsNamedByTheLastNumberInALabel) {
  EXPECT_EQ(layer_of_label("encoder.layer.0.attention.self.query.weight"), "encoder.layer.0");
  EXPECT_EQ(layer_of_label("layer1.0.downsample.1.weight"), "layer1.0.downsample.1");
  EXPECT_EQ(layer_of_label("embeddings.word_embeddings.weight"), "");
  EXPECT_EQ(layer_of_label(""), "");
}

TEST(GraphLayers, NodesWithoutConstantsBelongToTheLayerAroundThem) {
  const Graph g = residual_network(4);
  const GraphLayers layers = find_layers(g);
  EXPECT_EQ(layers.names.size(), 4u);
  int place = 0;
  for (NodeId n : g.nodes()) {  // linear, relu, add, mul per layer; the last relu is in none
    EXPECT_EQ(layers.of_node[size_t(n)], place < 16 ? place / 4 : -1) << g.node(n).op->name;
    ++place;
  }
}

TEST(GraphLayers, LayersOfOtherFormatsAreNotAlike) {
  EXPECT_EQ(find_layers(residual_network(4)).same_as, (std::vector<int>{0, 0, 0, 3}));
}

TEST(GraphDot, ShowsOperationsConstantsInputsOutputsAndTypes) {
  const std::string dot = to_dot(residual_network(2));
  EXPECT_TRUE(dot.starts_with("digraph \"small \\\"net\\\"\" {"));
  EXPECT_TRUE(has(dot, "label=\"input x\\nf32[B,32]\""));
  EXPECT_TRUE(has(dot, "label=\"output y\\nf32[B,32]\""));
  EXPECT_TRUE(has(dot, "dense.weight\\nmxint8[32,32]\", style=filled, fontsize=9, fillcolor=\"#ffd9a8\""));
  EXPECT_TRUE(has(dot, "dense.weight\\nf32[32,32]\", style=filled, fontsize=9, fillcolor=\"#f6f6f6\""));
  EXPECT_TRUE(has(dot, "[label=\"f32[B,32]\"]"));
  EXPECT_TRUE(has(dot, "subgraph cluster_0"));
}

TEST(GraphDot, DrawsARunOfEqualLayersOnce) {
  const Graph g = residual_network(5);
  const std::string folded = to_dot(g), all = to_dot(g, {.fold_repeats = false});
  EXPECT_TRUE(has(folded, "3 x the same as encoder.layer.0\\nencoder.layer.1 to encoder.layer.3"));
  EXPECT_FALSE(has(folded, "cluster_2"));
  EXPECT_TRUE(has(folded, "cluster_4"));  // the packed one
  EXPECT_FALSE(has(all, "the same as"));
  EXPECT_TRUE(has(all, "cluster_2"));
}

TEST(GraphDot, EveryEdgeJoinsNodesThatAreDrawn) {
  for (bool fold : {false, true}) {
    const std::string dot = to_dot(residual_network(5), {.fold_repeats = fold});
    int edges = 0;
    for (size_t at = 0; (at = dot.find(" -> ", at)) != std::string::npos; at += 4, ++edges) {
      const size_t begin = dot.rfind(' ', at - 1) + 1, end = dot.find_first_of(" ;", at + 4);
      EXPECT_TRUE(has(dot, " " + dot.substr(begin, at - begin) + " [label=")) << dot.substr(begin, at - begin);
      EXPECT_TRUE(has(dot, " " + dot.substr(at + 4, end - at - 4) + " [label=")) << dot.substr(at + 4, end - at - 4);
    }
    EXPECT_GE(edges, 14);
  }
}

TEST(GraphDot, DescribesTheGraphInASentence) {
  EXPECT_EQ(describe(residual_network(2)),
            "Graph small \"net\": 9 operations, 1 inputs, 1 outputs, 4 constants, 1 of them mxint8");
}

Graph chain(int nodes) {
  Graph g;
  ValueId x = g.add_input("x", {.dtype = DType::f32, .shape = {4}, .format = std::nullopt});
  for (int i = 0; i < nodes; ++i) x = g.emit(ops::get(i % 3 ? "relu" : "tanh"), {x});
  g.add_output(x, "y");
  return g;
}

// Far more nodes than anyone reads, or dot lays out in a minute.
TEST(GraphDrawing, ThousandsOfNodesAreDrawnInBlocksAndSaidToBe) {
  if (!dot_installed()) GTEST_SKIP() << "Graphviz is not installed";
  for (int nodes : {5'000, 60'000}) {
    const DrawnGraph drawn = draw_graph(chain(nodes));
    EXPECT_EQ(xml_fault(drawn.svg), "");
    EXPECT_LT(drawn.svg.size(), 200'000u);
    EXPECT_TRUE(has(drawn.svg, "1 of " + std::to_string(nodes)) || has(drawn.svg, "of " + std::to_string(nodes)));
    EXPECT_TRUE(has(drawn.note, "40 blocks")) << drawn.note;
  }
  EXPECT_EQ(draw_graph(chain(20)).note, "");
}

TEST(GraphBlocks, EveryNodeIsInOneBlockAndEdgesCountValues) {
  EXPECT_TRUE(has(blocks_dot(chain(3)), "b0 -> b1 [label=\"1\"]"));
  const std::string dot = blocks_dot(chain(4'000));
  EXPECT_TRUE(has(dot, "nodes 1 to 100 of 4000\\n66 relu\\n34 tanh")) << dot.substr(0, 1500);
  EXPECT_TRUE(has(dot, "nodes 3901 to 4000 of 4000"));
  EXPECT_TRUE(has(dot, "i -> b0 [label=\"1\"]"));
  EXPECT_TRUE(has(dot, "b39 -> o [label=\"1\"]"));
  EXPECT_FALSE(has(dot, "b40"));
}

// Each node in a layer of its own: neither sets of layers nor searches may grow with their square.
TEST(GraphLayers, ThousandsOfLayersAreFound) {
  const Graph g = residual_network(5'000);
  EXPECT_EQ(find_layers(g).names.size(), 5'000u);
  EXPECT_TRUE(has(to_dot(g), "4998 x the same as encoder.layer.0"));
}

TEST(DotSvg, EndsDotWhenAStopIsAskedFor) {
  if (!dot_installed()) GTEST_SKIP() << "Graphviz is not installed";
  request_stop(Stop::interrupted);
  EXPECT_THROW(dot_svg(to_dot(chain(10))), Stopped);
  request_stop(Stop::none);
  EXPECT_TRUE(dot_svg(to_dot(chain(10))).starts_with("<svg"));
}

TEST(DotSvg, DrawsAGraph) {
  if (!dot_installed()) GTEST_SKIP() << "Graphviz is not installed";
  const std::string svg = dot_svg(to_dot(residual_network(5)));
  EXPECT_TRUE(svg.starts_with("<svg"));
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_TRUE(has(svg, "mxint8[32,32]"));
}

TEST(DotSvg, SaysWhatDotSaid) {
  if (!dot_installed()) GTEST_SKIP() << "Graphviz is not installed";
  try {
    dot_svg("digraph {");
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_TRUE(has(e.what(), "syntax error")) << e.what();
  }
}

// While it lives, no program can be found: there is nothing below a plain file.
class WithoutPrograms {
 public:
  WithoutPrograms() { setenv("PATH", "/proc/self/exe/bin", 1); }
  ~WithoutPrograms() { setenv("PATH", path_.c_str(), 1); }

 private:
  const std::string path_ = std::getenv("PATH");
};

TEST(DotSvg, WithoutDotSaysHowToInstallIt) {
  const WithoutPrograms nothing;
  try {
    dot_svg("digraph {}");
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_TRUE(has(e.what(), "apt-get install graphviz")) << e.what();
  }
}

TEST(GraphDrawing, IsAPictureOrWordsAndTheReason) {
  const Graph graph = residual_network(2);
  if (dot_installed()) {
    const Block drawn = graph_drawing(graph, "The net");
    EXPECT_TRUE(std::get<Drawing>(drawn).svg.starts_with("<svg"));
  }
  const WithoutPrograms nothing;
  const Block described = graph_drawing(graph, "The net");
  EXPECT_TRUE(has(std::get<Text>(described).text, describe(graph)));
  EXPECT_TRUE(has(std::get<Text>(described).text, "apt-get install graphviz"));
}

}  // namespace
}  // namespace hone
