// conv, pools, regions, batch_norm in training and their gradients the way that code is generated for them: channels
// last, two spatial dimensions. Weights that are a matrix as they lie become one; others stay [O,I,...] and are put in
// order when they are laid out, so that no copy of them exists. What a transpose costs on either side is for
// sink_transposes to save.
#include "passes/lower/channels_last.h"

#include <algorithm>
#include <map>

#include "ops/calls/batch_norm_train.h"
#include "ops/calls/conv.h"
#include "ops/calls/conv_gradient.h"
#include "ops/calls/linear.h"
#include "ops/calls/pool.h"
#include "ops/calls/reshape.h"
#include "ops/calls/roi_pool.h"
#include "ops/calls/transpose.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/weight_matrix.h"

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
  if (graph.type(x).rank() == 4) return ops::transpose(graph, {.x = x, .perm = Axes{0, 2, 3, 1}});
  const ValueId rows = ops::transpose(graph, {.x = x, .perm = Axes{0, 2, 1}});
  return ops::unsqueeze(graph, {.x = rows, .axes = Axes{1}});
}

ValueId to_channels_first(Graph& graph, ValueId y, size_t rank) {
  if (rank == 4) return ops::transpose(graph, {.x = y, .perm = Axes{0, 3, 1, 2}});
  const ValueId rows = ops::squeeze(graph, {.x = y, .axes = Axes{1}});
  return ops::transpose(graph, {.x = rows, .perm = Axes{0, 2, 1}});
}

ValueId emit_convolution(Graph& graph, std::vector<ValueId> operands, Attributes attributes) {
  if (is_product(attributes)) {
    operands.resize(std::min<size_t>(operands.size(), 3));  // nothing is outside x, where x_zero would be
    return graph.emit(linear_def, std::move(operands));
  }
  attributes.set("channels_last", int64_t{1});
  return graph.emit(conv_def, std::move(operands), std::move(attributes));
}

ValueId interleaved(Graph& graph, ValueId phases, int64_t down, int64_t across) {
  if (down * across == 1) return phases;
  const Shape shape = graph.type(phases).shape;
  const Dim &images = shape[0], &height = shape[1], &width = shape[2], channels = floordiv(shape[3], down * across);
  const auto reshaped = [&](ValueId v, const Shape& to) { return ops::reshape(graph, {.x = v, .shape = to}); };
  if (down > 1) {
    phases = reshaped(phases, {images * height, width, down, across * channels});
    phases = ops::transpose(graph, {.x = phases, .perm = Axes{0, 2, 1, 3}});
  }
  return reshaped(phases, {images, height * down, width * across, channels});
}

namespace {

// What convs read, by the constant it was made from; kNone where there is none. Convs that share weights go on doing
// so.
using Weights = std::map<ValueId, ValueId>;

// The type of a result [N,C,W] or [N,C,H,W] as [N,H,W,C].
TensorType last_type(TensorType type) {
  if (type.rank() == 3) type.shape.insert(type.shape.begin() + 2, Dim(1));
  std::rotate(type.shape.begin() + 1, type.shape.begin() + 2, type.shape.end());
  return type;
}

// A window over [N,C,W] as one over [N,C,1,W].
void add_height(Attributes& attributes) {
  if (attributes.has("sizes")) attributes.set("sizes", Shape{1, attributes.get<Shape>("sizes")[0]});
  for (const auto& [name, neutral] : {std::pair("kernel_shape", 1), std::pair("strides", 1), std::pair("dilations", 1)})
    if (attributes.has(name)) attributes.set(name, Axes{neutral, attributes.get<Axes>(name)[0]});
  if (!attributes.has("pads")) return;
  const Axes& pads = attributes.get<Axes>("pads");
  attributes.set("pads", Axes{0, pads[0], 0, pads[1]});
}

// Extents of a conv's window, whose weights are a matrix or [O,I,...].
Axes window_of(const Graph& graph, const Node& conv) {
  if (conv.attributes.has("kernel_shape")) return conv.attributes.get<Axes>("kernel_shape");
  const Shape& shape = graph.type(conv.operands[1]).shape;
  return constant_shape(Shape(shape.begin() + 2, shape.end()));
}

// Weights [O,I,k] as [O,I,1,k].
ValueId with_height(Graph& graph, ValueId weights) {
  return graph.type(weights).rank() == 3 ? ops::unsqueeze(graph, {.x = weights, .axes = Axes{2}}) : weights;
}

// The weights that the conv is to read, kNone where they are packed across the rows. Those that are computed stay as
// they are: they are put in order when they are laid out.
ValueId weights_of(Graph& graph, const Node& conv, Weights& made) {
  const ValueId weights = conv.operands[1];
  const Tensor* tensor = graph.constant(weights);
  if (!tensor) {
    const TensorType& type = graph.type(weights);
    return type.is_packed() || !is_constant(type.shape) ? kNone : with_height(graph, weights);
  }
  const auto [found, is_new] = made.try_emplace(weights, weights);
  if (!is_new) return found->second;
  const std::vector<int64_t> shape = tensor->shape();
  if (!tensor->is_packed() && shape.size() > 2 && shape[1] > 1 && weight_matrix_shape(shape)[1] > shape[1]) {
    if (shape.size() == 3) found->second = graph.add_constant("", tensor->reshaped({shape[0], shape[1], 1, shape[2]}));
    return found->second;
  }
  std::optional<Tensor> matrix = shape.size() == 2 ? *tensor : weight_matrix(*tensor);
  if (!matrix) return found->second = kNone;
  if (shape.size() != 2) found->second = graph.add_constant("", *std::move(matrix));
  return found->second;
}

void move_conv(Graph& graph, NodeId id, ValueId weights) {
  const Node node = graph.node(id);
  const TensorType type = graph.type(node.results[0]);
  const bool is_matrix = graph.type(weights).rank() == 2;
  Attributes attributes = node.attributes;
  if (is_matrix) attributes.set("kernel_shape", window_of(graph, node));
  if (type.rank() == 3) add_height(attributes);
  attributes.set("channels_last", int64_t{1});
  std::vector<ValueId> operands = node.operands;
  operands[0] = to_channels_last(graph, operands[0]);
  operands[1] = weights;
  const ValueId y =
      is_matrix ? emit_convolution(graph, operands, attributes) : graph.emit(conv_def, operands, attributes);
  graph.refine_type(y, last_type(type));
  graph.replace_all_uses(node.results[0], to_channels_first(graph, y, type.rank()));
  graph.set_insertion_point(kNone);
  const std::string name = graph.value(node.results[0]).name;
  graph.erase(id);
  graph.rename(y, name);
}

// Ops whose first operands have channels, as does the first result or none.
struct Moved {
  const OpDef* op;
  size_t operands;
  bool result = true;
};
constexpr Moved kMoved[] = {{&max_pool_def, 1},
                            {&avg_pool_def, 1},
                            {&roi_align_def, 1},
                            {&max_pool_gradient_def, 2},
                            {&avg_pool_gradient_def, 1},
                            {&conv_input_gradient_def, 1},
                            {&conv_weight_gradient_def, 2, false},
                            {&batch_norm_train_def, 1},
                            {&batch_norm_gradient_def, 2}};

void move_channels(Graph& graph, NodeId id, const Moved& moved) {
  const Node node = graph.node(id);
  const TensorType type = graph.type(node.results[0]);
  const size_t rank = graph.type(node.operands[0]).rank();
  Attributes attributes = node.attributes;
  std::vector<ValueId> operands = node.operands;
  if (rank == 3) add_height(attributes);
  if (rank == 3 && node.op == &conv_input_gradient_def) operands[1] = with_height(graph, operands[1]);
  attributes.set("channels_last", int64_t{1});
  for (size_t i = 0; i < moved.operands; ++i) operands[i] = to_channels_last(graph, operands[i]);
  const std::vector<ValueId> results = graph.emit_all({node.op, operands, attributes});
  ValueId first = results[0];
  if (moved.result) {
    graph.refine_type(first, last_type(type));
    first = to_channels_first(graph, first, rank);
  } else if (type.rank() == 3) {
    first = ops::squeeze(graph, {.x = first, .axes = Axes{2}});
  }
  graph.set_insertion_point(kNone);
  std::vector<std::string> names;
  for (size_t i = 0; i < results.size(); ++i) {
    graph.replace_all_uses(node.results[i], i == 0 ? first : results[i]);
    names.push_back(graph.value(node.results[i]).name);
  }
  graph.erase(id);
  for (size_t i = 0; i < results.size(); ++i) graph.rename(results[i], names[i]);
}

bool has_line_or_plane(const Graph& graph, const Node& node) {
  const size_t rank = graph.type(node.operands[0]).rank();
  return (rank == 3 || rank == 4) && graph.type(node.operands[0]).ranked && graph.type(node.results[0]).ranked &&
         node.attributes.get_or<int64_t>("channels_last", 0) == 0;
}

Graph channels_last(Graph graph, const PassContext&) {
  Weights made;
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  for (NodeId id : nodes) {
    const Node& node = graph.node(id);
    const auto moved = std::ranges::find(kMoved, node.op, &Moved::op);
    const bool is_conv = node.op == &conv_def;
    if ((!is_conv && moved == std::end(kMoved)) || !has_line_or_plane(graph, node)) continue;
    graph.set_insertion_point(id);
    if (!is_conv) move_channels(graph, id, *moved);
    else if (const ValueId weights = weights_of(graph, Node(node), made); weights != kNone)
      move_conv(graph, id, weights);
    graph.set_insertion_point(kNone);
  }
  for (const auto& [weights, read] : made)
    if (read != kNone && read != weights) graph.set_label(read, derived_label(graph, weights, ".matrix"));
  graph.erase_unused_constants();
  return graph;
}

}  // namespace

extern constinit const PassDef channels_last_def{
    .name = "channels_last",
    .doc =
        "conv, pools, roi_align, batch_norm_train and their gradients, "
        "over one or two dimensions, read and write [N,H,W,C], between transposes; a "
        "conv of single pixels becomes linear.",
    .run = channels_last};

}  // namespace hone
