#include "passes/packed_transpose.h"

#include <algorithm>

#include "ops/calls/transpose.h"
#include "ops/evaluate.h"
#include "passes/weight_matrix.h"

namespace hone {
namespace {

using Kind = Geometry::Kind;

// Codes change places, and scales stay as they are: one for all, or one for each index of an axis.
Tensor with_moved_codes(const Tensor& tensor, const Permutation& perm) {
  Format format = *tensor.format();
  if (format.geometry.kind == Kind::channel) {
    const int64_t axis = format.geometry.axis, rank = std::ssize(tensor.shape());
    format.geometry.axis = static_cast<int>(std::ranges::find(perm, axis < 0 ? axis + rank : axis) - perm.begin());
  }
  const Tensor codes =
      Tensor::of<uint32_t>(tensor.shape(), codes_of(*tensor.format(), tensor.shape(), tensor.planes()));
  const Tensor* const operand = &codes;
  Attributes attributes;
  attributes.set("perm", perm);
  const Tensor moved = evaluate_node(transpose_def, {&operand, 1}, attributes)[0];
  return with_codes(tensor, format, moved.shape(), moved.as<uint32_t>());
}

// [K,N] as [N,K]: channels and groups lie along the other axis, so their planes stay what they are.
Tensor with_own_planes(const Tensor& matrix) {
  Format format = *matrix.format();
  const bool along_rows = format.geometry.axis == 1 || format.geometry.axis == -1;
  // Spelled as a format spells its default axis: 0 for channels, -1 for groups.
  format.geometry.axis = along_rows ? 0 : format.geometry.kind == Kind::group ? -1 : 1;
  return Tensor::packed(format, {matrix.dim(1), matrix.dim(0)}, matrix.data(), matrix.scales(), matrix.zero_points(),
                        matrix.global());
}

}  // namespace

std::optional<Tensor> packed_transpose(const Tensor& tensor, const Permutation& perm) {
  if (!tensor.is_packed() || perm.size() != tensor.shape().size()) return std::nullopt;
  const Kind kind = tensor.format()->geometry.kind;
  if (kind == Kind::tile || kind == Kind::flattened) return std::nullopt;
  if (kind != Kind::none && kind != Kind::tensor && perm == Permutation{1, 0}) return with_own_planes(tensor);
  if (kind == Kind::group) return std::nullopt;
  return with_moved_codes(tensor, perm);
}

}  // namespace hone
