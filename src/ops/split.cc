// split: consecutive parts of a tensor along an axis, one result each.
#include "ops/elements.h"
#include "ops/moves.h"
#include "ops/rules.h"
#include "ops/transposed.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"axis", AttributeKind::integer, false, "the axis that is split; default 0"},
    {"sizes", AttributeKind::shape, false, "lengths of the parts, which cover the axis; here or as the second operand"},
};

// The number of results must be known, so a computed `sizes` needs a known length.
Shape part_sizes(const InferArgs& a) {
  if (const std::optional<Shape> sizes = dims_argument(a, 1, "sizes")) return *sizes;
  const std::optional<size_t> parts = vector_length(a[1], "sizes");
  if (!parts) fail("sizes is {}; accepted: a vector of known length, one value per result", to_string(a[1]));
  return Shape(*parts, Dim::unknown());
}

std::vector<TensorType> infer_split(const InferArgs& a) {
  const size_t axis = checked_axis(a.attributes.get_or<int64_t>("axis", 0), a[0].rank());
  std::vector<TensorType> types;
  Dim total = 0;
  for (const Dim& size : part_sizes(a)) {
    if (size.is_constant() && size.constant() < 0) fail("a part has length {}", size.constant());
    types.push_back(plain_type(a[0].dtype, a[0].shape));
    types.back().shape[axis] = size;
    total = total + size;
  }
  if (!may_be_same(total, a[0].shape[axis]))
    fail("the parts have {} positions together but axis {} has {}", total.to_string(), axis,
         a[0].shape[axis].to_string());
  return types;
}

std::vector<Tensor> eval_split(const EvalArgs& a) {
  const Tensor x = plain(a[0]);
  const size_t axis = checked_axis(a.attributes.get_or<int64_t>("axis", 0), x.shape().size());
  const std::vector<int64_t> strides = strides_of(x.shape());
  std::vector<Tensor> parts;
  int64_t first = 0;
  for (const TensorType& type : a.results) {
    parts.push_back(copy_strided(x, sizes_of(type), strides, first * strides[axis]));
    first += parts.back().shape()[axis];
  }
  return parts;
}

std::optional<std::vector<Move>> split_moves(const MoveArgs& a) {
  const size_t rank = a.shapes[0].size(), axis = checked_axis(a.given.attributes.get_or<int64_t>("axis", 0), rank);
  std::vector<Move> moves;
  int64_t first = 0;
  for (size_t i = 0; i < a.given.results.size(); ++i) {
    const std::vector<int64_t> shape = a.result_shape(i);
    moves.push_back({.result = i, .axes = whole_axes(shape), .start = std::vector<int64_t>(rank, 0)});
    moves.back().axes[axis][0].from = first;
    first += shape[axis];
  }
  return moves;
}

}  // namespace

extern constinit const OpDef split_def{.name = "split",
                                       .doc = "x cut along an axis into parts of given lengths, one result each.",
                                       .operands = {"x", computed("computed_sizes")},
                                       .attributes = kAttributes,
                                       .results = -1,
                                       .infer = infer_split,
                                       .eval = eval_split,
                                       .transposed = transposed_along_axis,
                                       .moves = true,
                                       .move_map = split_moves};

}  // namespace hone
