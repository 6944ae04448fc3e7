#include "passes/weight_matrix.h"

#include <algorithm>

#include "formats/bits.h"
#include "ops/evaluate.h"
#include "ops/registry.h"

namespace hone {
namespace {

Tensor with_channels_last(const Tensor& weights) {
  std::vector<int64_t> perm(weights.shape().size(), 0);
  for (size_t i = 1; i + 1 < perm.size(); ++i) perm[i] = static_cast<int64_t>(i) + 1;
  perm.back() = 1;
  const Tensor* operand = &weights;
  return evaluate_node(ops::get("transpose"), {&operand, 1}, {{"perm", perm}})[0];
}

// One scale for all, or one for each row: only codes change places, within their line.
std::optional<Tensor> packed_matrix(const Tensor& weights, const std::vector<int64_t>& shape) {
  using Kind = Geometry::Kind;
  Format format = *weights.format();
  const Geometry& geometry = format.geometry;
  const bool by_row = geometry.kind == Kind::channel &&
                      (geometry.axis == 0 || geometry.axis == -static_cast<int>(weights.shape().size()));
  if (geometry.kind != Kind::none && geometry.kind != Kind::tensor && !by_row) return std::nullopt;
  if (by_row) format.geometry.axis = 0;
  const std::vector<uint32_t> codes = codes_of(format, weights.shape(), weights.planes());
  const Tensor moved = with_channels_last(Tensor::of<uint32_t>(weights.shape(), codes));
  const PackedLayout layout = packed_layout(format, shape);
  Buffer plane(weights.data().size());
  for (int64_t line = 0; line < layout.lines; ++line)
    write_codes(plane.mutable_bytes().data() + line * layout.line_bytes, format.element.bits,
                moved.as<uint32_t>().subspan(static_cast<size_t>(line * layout.line_elems),
                                             static_cast<size_t>(layout.line_elems)));
  return Tensor::packed(format, shape, plane, weights.scales(), weights.zero_points(), weights.global());
}

}  // namespace

std::vector<int64_t> weight_matrix_shape(const std::vector<int64_t>& weights) {
  int64_t columns = 1;
  for (size_t i = 1; i < weights.size(); ++i) columns *= weights[i];
  return {weights[0], columns};
}

std::optional<Tensor> weight_matrix(const Tensor& weights) {
  const std::vector<int64_t>& from = weights.shape();
  const std::vector<int64_t> shape = weight_matrix_shape(from);
  if (weights.is_packed()) return packed_matrix(weights, shape);
  const bool in_order = from[1] == 1 || from[1] == shape[1];
  return (in_order ? weights : with_channels_last(weights)).reshaped(shape);
}

}  // namespace hone
