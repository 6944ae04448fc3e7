#include "report/graph_drawing.h"

#include "base/error.h"
#include "report/dot_svg.h"
#include "report/graph_dot.h"

namespace hone {

Block graph_drawing(const Graph& graph, const std::string& title) {
  try {
    return Drawing{.key = "graph", .title = title, .svg = dot_svg(to_dot(graph)), .description = describe(graph)};
  } catch (const Error& error) {
    return Text{fmt::format("{}, without a picture: {} {}", title, describe(graph), error.what())};
  }
}

}  // namespace hone
