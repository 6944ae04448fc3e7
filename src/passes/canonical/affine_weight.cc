#include "passes/canonical/affine_weight.h"

#include <algorithm>
#include <memory>

#include "base/small_float.h"
#include "ops/calls/gather.h"
#include "ops/calls/reshape.h"
#include "ops/elements.h"
#include "ops/evaluate.h"
#include "passes/match.h"

namespace hone {
namespace {

// A plain constant, or one seen in another shape; none for other values.
std::optional<Tensor> known_tensor(const Graph& graph, ValueId id) {
  const NodeId reshape = produced_by(graph, id, reshape_def);
  const Tensor* tensor = graph.constant(reshape == kNone ? id : graph.operand(reshape, 0));
  if (!tensor || tensor->is_packed() || !is_constant(graph.type(id).shape)) return std::nullopt;
  return tensor->reshaped(constant_shape(graph.type(id).shape));
}

// A scale or zero point, one for each block where `places` along an axis gather theirs.
struct Beside {
  Tensor tensor;
  std::optional<CutBlocks> cut;
};

std::optional<CutBlocks> cut_blocks(const Tensor& places, size_t axis, int64_t blocks) {
  const std::vector<int64_t> values = places.to_integers();
  const int64_t block = std::count(values.begin(), values.end(), 0);
  if (block == 0) return std::nullopt;
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] != static_cast<int64_t>(i) / block || values[i] >= blocks) return std::nullopt;
  return CutBlocks{axis, block, Tensor::of<int64_t>({std::ssize(values)}, values)};
}

std::optional<Beside> beside(const Graph& graph, ValueId id, const std::vector<int64_t>& codes) {
  const NodeId gather = produced_by(graph, id, gather_def);
  std::optional<Tensor> tensor = known_tensor(graph, gather == kNone ? id : graph.operand(gather, 0));
  if (!tensor) return std::nullopt;
  if (gather == kNone) return Beside{std::move(*tensor), {}};
  const Tensor* places = graph.constant(graph.operand(gather, 1));
  const auto rank = std::ssize(codes);
  int64_t axis = graph.node(gather).attributes.get_or<int64_t>("axis", 0);
  if (axis < 0) axis += rank;
  if (!places || places->is_packed() || !is_integer(places->dtype()) || axis < 0 || axis >= rank ||
      std::ssize(tensor->shape()) != rank || places->shape() != std::vector{codes[static_cast<size_t>(axis)]})
    return std::nullopt;
  std::optional<CutBlocks> cut = cut_blocks(*places, static_cast<size_t>(axis), tensor->dim(static_cast<int>(axis)));
  return cut ? std::optional(Beside{std::move(*tensor), std::move(cut)}) : std::nullopt;
}

bool same_blocks(const std::optional<CutBlocks>& a, const std::optional<CutBlocks>& b) {
  return a.has_value() == b.has_value() && (!a || (a->axis == b->axis && a->block == b->block));
}

Tensor spread(const std::optional<CutBlocks>& cut, const Tensor& beside) {
  if (!cut) return beside;
  const Tensor* operands[] = {&beside, &cut->places};
  return evaluate_node(gather_def, operands, {{"axis", static_cast<int64_t>(cut->axis)}})[0];
}

}  // namespace

std::optional<AffineWeight> affine_weight(const Graph& graph, const Node& node) {
  const std::optional<Tensor> codes = known_tensor(graph, node.operands[0]);
  if (!codes || !(is_integer(codes->dtype()) || small_float(codes->dtype()))) return std::nullopt;
  std::optional<Beside> scale = beside(graph, node.operands[1], codes->shape());
  if (!scale) return std::nullopt;
  AffineWeight weight{*codes, std::move(scale->tensor), {}, std::move(scale->cut)};
  if (node.operands.size() < 3 || node.operands[2] == kNone) return weight;
  std::optional<Beside> zero_point = beside(graph, node.operands[2], codes->shape());
  if (!zero_point || !same_blocks(weight.cut, zero_point->cut)) return std::nullopt;
  weight.zero_point = std::move(zero_point->tensor);
  return weight;
}

std::vector<double> values_at(const AffineWeight& weight, const Tensor& beside, const std::vector<int64_t>& elements) {
  const std::vector<int64_t>& shape = weight.codes.shape();
  std::vector<int64_t> sizes = shape, per_place(shape.size(), 1);
  if (weight.cut) {
    sizes[weight.cut->axis] = beside.dim(static_cast<int>(weight.cut->axis));
    per_place[weight.cut->axis] = weight.cut->block;
  }
  const std::vector<double> values = beside.to_doubles();
  const std::vector<int64_t> strides = strides_of(shape), from = strides_broadcast(beside.shape(), sizes);
  std::vector<double> result;
  for (int64_t element : elements) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      offset += element / strides[axis] % shape[axis] / per_place[axis] * from[axis];
    result.push_back(values[static_cast<size_t>(offset)]);
  }
  return result;
}

Tensor dequantized(const AffineWeight& weight, const Node& node) {
  const Tensor scale = spread(weight.cut, weight.scale);
  std::optional<Tensor> zero_point;
  if (weight.zero_point) zero_point = spread(weight.cut, *weight.zero_point);
  const Tensor* operands[] = {&weight.codes, &scale, zero_point ? &*zero_point : nullptr};
  return evaluate_node(*node.op, std::span(operands).first(node.operands.size()), node.attributes)[0];
}

std::vector<Rows> parts_of(const std::vector<int64_t>& shape) {
  constexpr int64_t kElementsAtOnce = 1 << 18;
  const int64_t rows = shape[0], each = std::max<int64_t>(1, kElementsAtOnce / (element_count(shape) / rows));
  std::vector<Rows> parts;
  for (int64_t first = 0; first < rows; first += each) parts.push_back({first, std::min(each, rows - first)});
  return parts;
}

Tensor rows_of(const Tensor& tensor, Rows rows) {
  std::vector<int64_t> shape = tensor.shape();
  const size_t row = tensor.data().size() / static_cast<size_t>(shape[0]);
  shape[0] = rows.count;
  const auto bytes =
      tensor.data().bytes().subspan(static_cast<size_t>(rows.first) * row, static_cast<size_t>(rows.count) * row);
  return {tensor.dtype(), std::move(shape), Buffer(std::make_shared<const Buffer>(tensor.data()), bytes)};
}

AffineWeight rows_of(const AffineWeight& whole, Rows rows) {
  const bool blocks_of_rows = whole.cut && whole.cut->axis == 0;
  const auto part = [&](const Tensor& beside) {  // one for all rows, or as many rows as there are of codes
    const bool has_rows = beside.shape().size() == whole.codes.shape().size() && beside.shape()[0] != 1;
    return has_rows && !blocks_of_rows ? rows_of(beside, rows) : beside;
  };
  AffineWeight weight{rows_of(whole.codes, rows), part(whole.scale), {}, whole.cut};
  if (whole.zero_point) weight.zero_point = part(*whole.zero_point);
  if (blocks_of_rows) weight.cut->places = rows_of(whole.cut->places, rows);
  return weight;
}

}  // namespace hone
