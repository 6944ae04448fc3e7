// conv_transpose whose weights are computed or parameters, as what it also is: the gradient of the input of the
// convolution with these weights. Kernels lay those out for it in each run, or when they have changed; phases of a
// stride whose taps are constants of their own (expand_conv_transpose) would be copies that each run makes.
#include <algorithm>

#include "ops/calls/arithmetic.h"
#include "ops/calls/conv_gradient.h"
#include "ops/calls/conv_transpose.h"
#include "ops/calls/reshape.h"
#include "ops/sliding_window.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

// What is f32 and whose result has exactly as many places of the window as x has elements.
bool is_gradient(const Graph& graph, const Node& node) {
  const TensorType &x = graph.type(node.operands[0]), &w = graph.type(node.operands[1]),
                   &y = graph.type(node.results[0]);
  const auto is_f32 = [&](ValueId v) {
    return v == kNone || (graph.type(v).dtype == DType::f32 && !graph.type(v).is_packed());
  };
  if (graph.constant(node.operands[1]) || !std::ranges::all_of(node.operands, is_f32)) return false;
  if (!x.ranked || !w.ranked || !y.ranked || !is_constant(w.shape)) return false;
  const auto has_none = [](const TensorType& type) {
    return std::ranges::find(type.shape, Dim(0)) != type.shape.end();
  };
  if (has_none(x) || has_none(w) || node.attributes.has("output_shape")) return false;  // from which pads follow
  const Shape places = read_sliding_window(node.attributes, spatial(w.shape)).places(y.shape);
  return std::equal(places.begin(), places.end(), x.shape.begin() + 2, x.shape.end());
}

Graph turn_conv_transpose(Graph graph, const PassContext&) {
  for (NodeId id : graph.nodes(conv_transpose_def)) {
    const Node node = graph.node(id);
    if (!is_gradient(graph, node)) continue;
    const TensorType type = graph.type(node.results[0]);
    Attributes attributes = node.attributes;
    attributes.erase("output_padding");
    attributes.set("sizes", spatial(type.shape));
    graph.set_insertion_point(id);
    ValueId v = graph.emit(conv_input_gradient_def, {node.operands[0], node.operands[1]}, attributes);
    if (node.operands.size() > 2 && node.operands[2] != kNone) {
      std::vector<int64_t> axes;  // of the result, behind the channels
      for (size_t i = 2; i < type.rank(); ++i) axes.push_back(static_cast<int64_t>(i) - 1);
      v = ops::add(graph, {v, ops::unsqueeze(graph, {.x = node.operands[2], .axes = axes})});
    }
    graph.refine_type(v, type);
    graph.set_insertion_point(kNone);
    replace_by_value(graph, id, v);
  }
  return graph;
}

}  // namespace

extern constinit const PassDef turn_conv_transpose_def{
    .name = "turn_conv_transpose",
    .doc = "conv_transpose with computed weights → conv_input_gradient.",
    .run = turn_conv_transpose};

}  // namespace hone
