#include "report/graph_drawing.h"

#include <algorithm>

#include "base/error.h"
#include "report/dot_svg.h"
#include "report/graph_blocks.h"

namespace hone {
namespace {

constexpr auto kMostLines = 4000;  // of DOT text: nodes and edges
constexpr double kSeconds = 3;

}  // namespace

DrawnGraph draw_graph(const Graph& graph, const DotOptions& options) {
  const std::string dot = to_dot(graph, options);
  std::string why = "node by node it would have too many boxes to read";
  if (std::ranges::count(dot, '\n') <= kMostLines) {
    if (const std::optional<std::string> svg = dot_svg_within(dot, kSeconds)) return {*svg, ""};
    why = fmt::format("node by node dot takes longer than {:g} s", kSeconds);
  }
  return {dot_svg(blocks_dot(graph)),
          fmt::format("{} nodes are drawn as {} blocks: {}; DOT text has all of them", graph.nodes().size(),
                      std::min<size_t>(graph.nodes().size(), kMostBlocks), why)};
}

Block graph_drawing(const Graph& graph, const std::string& title) {
  try {
    const DrawnGraph drawn = draw_graph(graph);
    return Drawing{.key = "graph",
                   .title = title,
                   .svg = drawn.svg,
                   .description = describe(graph) + (drawn.note.empty() ? "" : ". " + drawn.note)};
  } catch (const Error& error) {
    return Text{fmt::format("{}, without a picture: {} {}", title, describe(graph), error.what())};
  }
}

}  // namespace hone
