// conv and pools the way that code is generated for them: channels last, two spatial dimensions, and the weights of a
// conv as a matrix whose rows a product can walk. What a transpose costs on either side is for sink_transposes to save.
#include "passes/channels_last.h"

#include <algorithm>
#include <map>

#include "ops/evaluate.h"
#include "ops/registry.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

using Axes = std::vector<int64_t>;

// A window of one element on each place without padding: a product of every pixel's channels.
bool is_product(const Attributes& attributes) {
  const auto all = [&](const char* name, int64_t value) {
    if (!attributes.has(name)) return true;
    const Axes& list = attributes.get<Axes>(name);
    return std::all_of(list.begin(), list.end(), [&](int64_t v) { return v == value; });
  };
  return all("kernel_shape", 1) && all("strides", 1) && all("pads", 0) && attributes.get_or<int64_t>("groups", 1) == 1;
}

}  // namespace

ValueId to_channels_last(Graph& graph, ValueId x) {
  if (graph.type(x).rank() == 4) return graph.emit(ops::get("transpose"), {x}, {{"perm", Axes{0, 2, 3, 1}}});
  const ValueId rows = graph.emit(ops::get("transpose"), {x}, {{"perm", Axes{0, 2, 1}}});
  return graph.emit(ops::get("unsqueeze"), {rows}, {{"axes", Axes{1}}});
}

ValueId to_channels_first(Graph& graph, ValueId y, size_t rank) {
  if (rank == 4) return graph.emit(ops::get("transpose"), {y}, {{"perm", Axes{0, 3, 1, 2}}});
  const ValueId rows = graph.emit(ops::get("squeeze"), {y}, {{"axes", Axes{1}}});
  return graph.emit(ops::get("transpose"), {rows}, {{"perm", Axes{0, 2, 1}}});
}

ValueId emit_convolution(Graph& graph, std::vector<ValueId> operands, Attributes attributes) {
  if (is_product(attributes)) return graph.emit(ops::get("linear"), std::move(operands));
  attributes.set("channels_last", int64_t{1});
  return graph.emit(ops::get("conv"), std::move(operands), std::move(attributes));
}

namespace {

// Matrices by the constant they were made from: convs that share weights go on doing so.
using Matrices = std::map<ValueId, ValueId>;

// The type of a result [N,C,W] or [N,C,H,W] as [N,H,W,C].
TensorType last_type(TensorType type) {
  if (type.rank() == 3) type.shape.insert(type.shape.begin() + 2, Dim(1));
  std::rotate(type.shape.begin() + 1, type.shape.begin() + 2, type.shape.end());
  return type;
}

// A window over [N,C,W] as one over [N,C,1,W].
void add_height(Attributes& attributes) {
  for (const auto& [name, neutral] : {std::pair("kernel_shape", 1), std::pair("strides", 1), std::pair("dilations", 1)})
    if (attributes.has(name)) attributes.set(name, Axes{neutral, attributes.get<Axes>(name)[0]});
  if (!attributes.has("pads")) return;
  const Axes& pads = attributes.get<Axes>("pads");
  attributes.set("pads", Axes{0, pads[0], 0, pads[1]});
}

// Extents of a conv's window, whose weights are a matrix or [O,I,...].
Axes window_of(const Graph& graph, const Node& conv) {
  if (conv.attributes.has("kernel_shape")) return conv.attributes.get<Axes>("kernel_shape");
  const std::vector<int64_t>& shape = graph.constant(conv.operands[1])->shape();
  return {shape.begin() + 2, shape.end()};
}

// [O,I,...] as [O, window * I], channels fastest.
Tensor as_matrix(const Tensor& weight) {
  const std::vector<int64_t>& shape = weight.shape();
  const std::vector<int64_t> matrix{shape[0], weight.elements() / std::max<int64_t>(shape[0], 1)};
  const bool in_order = shape[1] == 1 || shape[1] == matrix[1];
  if (in_order) return weight.reshaped(matrix);
  Axes perm(shape.size());
  for (size_t i = 1; i + 1 < perm.size(); ++i) perm[i] = static_cast<int64_t>(i) + 1;
  perm.back() = 1;
  const Tensor* operand = &weight;
  return evaluate_node(ops::get("transpose"), {&operand, 1}, {{"perm", perm}})[0].reshaped(matrix);
}

// Constant weights, which are a matrix or can become one.
bool has_fitting_weights(const Graph& graph, const Node& conv) {
  const Tensor* weight = graph.constant(conv.operands[1]);
  return weight && (weight->shape().size() == 2 || !weight->is_packed());
}

ValueId matrix_of(Graph& graph, ValueId weight, Matrices& matrices) {
  if (graph.type(weight).rank() == 2) return weight;
  if (!matrices.contains(weight)) matrices[weight] = graph.add_constant("", as_matrix(*graph.constant(weight)));
  return matrices[weight];
}

void move_channels(Graph& graph, NodeId id, Matrices& matrices) {
  const Node node = graph.node(id);
  const TensorType type = graph.type(node.results[0]);
  const bool is_conv = std::string_view(node.op->name) == "conv";
  Attributes attributes = node.attributes;
  if (is_conv) attributes.set("kernel_shape", window_of(graph, node));
  if (type.rank() == 3) add_height(attributes);
  attributes.set("channels_last", int64_t{1});
  graph.set_insertion_point(id);
  std::vector<ValueId> operands = node.operands;
  operands[0] = to_channels_last(graph, operands[0]);
  if (is_conv) operands[1] = matrix_of(graph, operands[1], matrices);
  const ValueId y =
      is_conv ? emit_convolution(graph, operands, attributes) : graph.emit(*node.op, operands, attributes);
  graph.refine_type(y, last_type(type));
  graph.replace_all_uses(node.results[0], to_channels_first(graph, y, type.rank()));
  graph.set_insertion_point(kNone);
  const std::string name = graph.value(node.results[0]).name;
  graph.erase(id);
  graph.rename(y, name);
}

bool can_move_channels(const Graph& graph, const Node& node) {
  const std::string_view name = node.op->name;
  const bool is_conv = name == "conv";
  if ((!is_conv && name != "max_pool" && name != "avg_pool") ||
      node.attributes.get_or<int64_t>("channels_last", 0) != 0)
    return false;
  const size_t rank = graph.type(node.operands[0]).rank();
  return (rank == 3 || rank == 4) && (!is_conv || has_fitting_weights(graph, node));
}

Graph channels_last(Graph graph, const PassContext&) {
  Matrices matrices;
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  for (NodeId id : nodes)
    if (can_move_channels(graph, graph.node(id))) move_channels(graph, id, matrices);
  for (const auto& [weight, matrix] : matrices) graph.set_label(matrix, derived_label(graph, weight, ".matrix"));
  graph.erase_unused_constants();
  return graph;
}

}  // namespace

extern constinit const PassDef channels_last_def{
    .name = "channels_last",
    .doc =
        "conv, max_pool and avg_pool over one or two dimensions read and write [N,H,W,C], between transposes; constant "
        "weights of a conv become a matrix, and a conv of single pixels becomes linear.",
    .run = channels_last};

}  // namespace hone
