// A weight that a file stores as codes, scales and zero points:
//   dequantize_linear(codes, scale [, zero_point])   scale: one, or one for each index of an axis
//   reshape(dequantize_linear(codes [..,K/B,B,..], scale [..,K/B,1,..]), [..,K,..])   blocks of B along an axis
//   dequantize_linear(codes [..,K,..], gather(scale [..,ceil(K/B),..], i/B))   the same, where B does not divide K
// becomes one packed constant. The format is made up from the codes that are there; a weight for which none decodes to
// the same bits stays.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>

#include "base/stop.h"
#include "base/threads.h"
#include "ops/calls/conv.h"
#include "ops/calls/quantize_linear.h"
#include "ops/calls/reshape.h"
#include "ops/calls/transpose.h"
#include "ops/elements.h"
#include "passes/canonical/affine_encoding.h"
#include "passes/canonical/affine_weight.h"
#include "passes/captures.h"
#include "passes/match.h"
#include "passes/packed_transpose.h"
#include "passes/pass.h"
#include "passes/permutation.h"

namespace hone {
namespace {

// Which elements share a scale. `firsts`: the first element of each group, in the format's order.
struct Groups {
  NodeId root;  // what the packed constant takes the place of
  std::string geometry;
  bool are_blocks = false;
  bool in_rows = false;  // each row, an index of the first axis, has groups of its own
  std::vector<int64_t> firsts;
};

// Axes of the codes along which scale or zero point differ.
std::vector<size_t> varying_axes(const AffineWeight& weight) {
  const size_t rank = weight.codes.shape().size();
  std::vector<size_t> axes;
  for (size_t axis = 0; axis < rank; ++axis) {
    const auto varies = [&](const Tensor& tensor) {
      const std::vector<int64_t>& shape = tensor.shape();
      return axis + shape.size() >= rank && shape[axis + shape.size() - rank] != 1;
    };
    if (varies(weight.scale) || (weight.zero_point && varies(*weight.zero_point))) axes.push_back(axis);
  }
  return axes;
}

// The axis of `codes` that `joined` has as one with the axis before it; 0 when there is none.
size_t joined_axis(const std::vector<int64_t>& codes, const std::vector<int64_t>& joined) {
  if (joined.size() + 1 != codes.size()) return 0;
  for (size_t axis = 1; axis < codes.size(); ++axis) {
    std::vector<int64_t> shape = codes;
    shape[axis - 1] *= shape[axis];
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    if (shape == joined) return axis;
  }
  return 0;
}

// The reshape that joins blocks, which do not differ inside.
std::optional<Groups> blocks(const Graph& graph, NodeId id, const AffineWeight& weight) {
  const std::vector<Graph::Use> uses = graph.uses(graph.result(id));
  if (uses.size() != 1 || graph.use_count(graph.result(id)) != 1) return std::nullopt;
  const NodeId root = uses[0].node;
  if (graph.node(root).op != &reshape_def) return std::nullopt;
  const Shape& joined = graph.type(graph.result(root)).shape;
  const std::vector<int64_t>& shape = weight.codes.shape();
  const size_t axis = is_constant(joined) ? joined_axis(shape, constant_shape(joined)) : 0;
  const std::vector<size_t> varying = varying_axes(weight);
  if (axis == 0 || std::find(varying.begin(), varying.end(), axis) != varying.end()) return std::nullopt;
  const AxisView view = around_axis(shape, axis);
  const int64_t per_line = shape[axis - 1];
  Groups groups{root, fmt::format(".g{}", view.length), true, axis > 1, {}};
  if (view.inner != 1) groups.geometry += fmt::format(".ax{}", axis - 1);
  for (int64_t lines = 0; lines < view.outer; lines += per_line)
    for (int64_t inner = 0; inner < view.inner; ++inner)
      for (int64_t block = lines; block < lines + per_line; ++block)
        groups.firsts.push_back(block * view.length * view.inner + inner);
  return groups;
}

std::optional<Groups> cut_blocks(NodeId id, const AffineWeight& weight) {
  if (!weight.cut) return std::nullopt;
  const auto& [axis, block, places] = *weight.cut;
  const AxisView view = around_axis(weight.codes.shape(), axis);
  Groups groups{id, fmt::format(".g{}", block), true, axis > 0, {}};
  if (view.inner != 1) groups.geometry += fmt::format(".ax{}", axis);
  for (int64_t line = 0; line < view.outer; ++line)
    for (int64_t inner = 0; inner < view.inner; ++inner)
      for (int64_t at = 0; at < view.length; at += block)
        groups.firsts.push_back((line * view.length + at) * view.inner + inner);
  return groups;
}

std::optional<Groups> channels(NodeId id, const AffineWeight& weight) {
  const std::vector<size_t> varying = varying_axes(weight);
  if (varying.empty()) return Groups{id, ".tensor", false, false, {0}};
  if (varying.size() > 1) return std::nullopt;
  const AxisView view = around_axis(weight.codes.shape(), varying[0]);
  const bool in_rows = varying[0] == 0;
  Groups groups{id, in_rows ? ".channel" : fmt::format(".channel.ax{}", varying[0]), false, in_rows, {}};
  for (int64_t channel = 0; channel < view.length; ++channel) groups.firsts.push_back(channel * view.inner);
  return groups;
}

// The part of `of_groups` that belongs to these of `all` rows.
std::span<const uint32_t> part_of(const std::vector<uint32_t>& of_groups, bool in_rows, Rows rows, int64_t all) {
  if (!in_rows) return of_groups;
  const size_t each = of_groups.size() / static_cast<size_t>(all);
  return std::span(of_groups).subspan(static_cast<size_t>(rows.first) * each, static_cast<size_t>(rows.count) * each);
}

void append(std::vector<std::byte>& plane, const std::vector<std::byte>& part) {
  plane.insert(plane.end(), part.begin(), part.end());
}

// The planes of all rows as those of the parts behind each other. Formats whose lines run across rows are stored
// otherwise, which the caller finds out.
Planes planes_of_parts(const AffineWeight& weight, const Groups& groups, const Encoding& encoding, const Format& format,
                       const std::vector<int64_t>& shape, const std::vector<Rows>& parts) {
  if (parts.size() == 1)
    return planes_of(format, shape, codes_of(weight.codes, encoding), encoding.scales, encoding.zero_points);
  Planes planes;
  for (const Rows& rows : parts) {
    std::vector<int64_t> part_shape = shape;
    part_shape[0] = rows.count;
    const Planes part = planes_of(format, part_shape, codes_of(rows_of(weight.codes, rows), encoding),
                                  part_of(encoding.scales, groups.in_rows, rows, shape[0]),
                                  part_of(encoding.zero_points, groups.in_rows, rows, shape[0]));
    if (planes.codes.empty()) planes.codes.reserve(static_cast<size_t>(plane_bytes(format, shape).codes));
    append(planes.codes, part.codes);
    if (!groups.in_rows && &rows != &parts.front()) continue;
    append(planes.scales, part.scales);
    append(planes.zero_points, part.zero_points);
  }
  return planes;
}

Buffer as_buffer(std::vector<std::byte> bytes) {
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return {owner, *owner};
}

bool decodes_to_the_same_bits(const Tensor& packed, const AffineWeight& weight, const Node& node) {
  const std::vector<Rows> parts = parts_of(weight.codes.shape());
  const int64_t row = packed.elements() / weight.codes.shape()[0];
  std::atomic<bool> same = true;
  parallel_for(static_cast<int64_t>(parts.size()), [&](int64_t i) {
    if (!same) return;
    const Rows& rows = parts[static_cast<size_t>(i)];
    std::vector<float> found(static_cast<size_t>(rows.count * row));
    unpack_range(*packed.format(), packed.shape(), packed.planes(), rows.first * row, found);
    const Tensor wanted = dequantized(rows_of(weight, rows), node);
    if (std::memcmp(found.data(), wanted.data().bytes().data(), found.size() * sizeof(float)) != 0) same = false;
  });
  return same;
}

std::optional<Tensor> packed(const AffineWeight& weight, const Groups& groups, const Node& node,
                             const std::vector<int64_t>& shape) {
  const std::optional<Encoding> encoding = encoding_of(weight, groups.firsts, groups.are_blocks);
  if (!encoding) return std::nullopt;
  const Format format = parse_format(encoding->head + groups.geometry + (encoding->zero_points.empty() ? "" : ".asym"));
  const PlaneBytes bytes = plane_bytes(format, shape);
  const std::vector<Rows> whole{{0, shape[0]}};
  const bool by_rows = weight.codes.shape()[0] == shape[0] && (groups.in_rows || !groups.are_blocks);
  for (const std::vector<Rows>& parts : {by_rows ? parts_of(shape) : whole, whole}) {
    Planes planes = planes_of_parts(weight, groups, *encoding, format, shape, parts);
    if (std::ssize(planes.codes) != bytes.codes || std::ssize(planes.scales) != bytes.scales ||
        std::ssize(planes.zero_points) != bytes.zero_points)
      continue;
    Tensor tensor = Tensor::packed(format, shape, as_buffer(std::move(planes.codes)),
                                   as_buffer(std::move(planes.scales)), as_buffer(std::move(planes.zero_points)), {});
    if (decodes_to_the_same_bits(tensor, weight, node)) return tensor;
    if (parts.size() == 1) break;
  }
  return std::nullopt;
}

// Vectors, such as biases, stay: kernels read them as they are. Gives the bytes of the codes that took part.
int64_t recognise(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  const std::optional<AffineWeight> weight = affine_weight(graph, node);
  if (!weight || node.attributes.get<DType>("dtype") != DType::f32 ||
      graph.type(node.results[0]).shape != to_shape(weight->codes.shape()))
    return 0;
  std::optional<Groups> groups = cut_blocks(id, *weight);
  if (!groups) groups = blocks(graph, id, *weight);
  if (!groups) groups = channels(id, *weight);
  if (!groups) return 0;
  const std::vector<int64_t> shape = constant_shape(graph.type(graph.result(groups->root)).shape);
  if (shape.size() < 2 || element_count(shape) == 0) return 0;
  const std::optional<Tensor> constant = packed(*weight, *groups, node, shape);
  if (!constant) return 0;
  const ValueId value = graph.add_constant("", *constant);
  replace_by_value(graph, groups->root, value);
  if (groups->root != id) graph.erase(id);
  const NodeId spread = graph.producer(node.operands[0]);
  const ValueId codes = spread == kNone ? node.operands[0] : graph.operand(spread, 0);
  for (ValueId operand : node.operands)
    if (const NodeId reshape = operand == kNone ? kNone : graph.producer(operand);
        reshape != kNone && graph.use_count(operand) == 0)
      graph.erase(reshape);
  graph.set_label(value, derived_label(graph, codes, ".packed"));
  return weight->codes.bytes();
}

bool transpose(Graph& graph, NodeId id) {
  const ValueId source = graph.operand(id, 0);
  const Tensor* tensor = graph.constant(source);
  std::optional<Tensor> result = tensor ? packed_transpose(*tensor, permutation_of(graph, id)) : std::nullopt;
  if (!result) return false;
  const ValueId value = graph.add_constant("", *std::move(result));
  replace_by_value(graph, id, value);
  graph.set_label(value, derived_label(graph, source, ".transposed"));
  return true;
}

// conv by a packed matrix [O, window * I] that is spread out as [O,window,I] and then [O,I,window] reads the matrix.
bool gather_weights(Graph& graph, NodeId conv) {
  const NodeId moved = produced_by(graph, graph.operand(conv, 1), transpose_def);
  const NodeId spread = moved == kNone ? kNone : produced_by(graph, graph.operand(moved, 0), reshape_def);
  if (spread == kNone || graph.node(conv).attributes.has("kernel_shape")) return false;
  const ValueId matrix = graph.operand(spread, 0);
  const TensorType& type = graph.type(graph.result(spread));
  if (!graph.constant(matrix) || graph.type(matrix).rank() != 2 || !type.is_static() || type.rank() < 3 ||
      type.shape[0] != graph.type(matrix).shape[0])
    return false;
  Permutation channels_second(type.rank());
  std::iota(channels_second.begin(), channels_second.end(), 0);
  std::rotate(channels_second.begin() + 1, channels_second.end() - 1, channels_second.end());
  if (permutation_of(graph, moved) != channels_second) return false;
  const std::vector<int64_t> window = constant_shape({type.shape.begin() + 1, type.shape.end() - 1});
  graph.set_operand(conv, 1, matrix);
  graph.set_attribute(conv, "kernel_shape", window);
  for (NodeId unused : {moved, spread})
    if (graph.use_count(graph.result(unused)) == 0) graph.erase(unused);
  return true;
}

Graph recognise_packed(Graph graph, const PassContext&) {
  constexpr int64_t kHeld = 8 << 20;  // bytes of codes that are no longer read before they are let go
  int64_t held = 0;
  bool changed = false;
  for (NodeId id : graph.nodes(dequantize_linear_def)) {
    check_stop();
    const int64_t codes = recognise(graph, id);
    held += codes, changed |= codes > 0;
    if (held > kHeld) graph.erase_unused_constants(), held = 0;
  }
  for (NodeId id : graph.nodes(transpose_def)) changed |= transpose(graph, id);
  for (NodeId id : graph.nodes(conv_def)) changed |= gather_weights(graph, id);
  if (!changed) return graph;
  graph.erase_unused_constants();
  retype_captures(graph);
  graph.reinfer();
  return graph;
}

}  // namespace

extern constinit const PassDef recognise_packed_def{
    .name = "recognise_packed",
    .doc =
        "dequantize_linear of a constant becomes a constant packed in a format (int4.g32, uint8.channel.asym, mxint8, "
        "…) that decodes to the same bits; a transpose of a packed matrix becomes one too, and so do weights of a conv "
        "that are spread out from one.",
    .run = recognise_packed};

}  // namespace hone
