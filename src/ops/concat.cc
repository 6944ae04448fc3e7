// concat: operands one after the other along an axis.
#include "ops/elements.h"
#include "ops/moves.h"
#include "ops/rules.h"
#include "ops/transposed.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"axis", AttributeKind::integer, true, "the axis along which the operands follow each other"}};

std::vector<TensorType> infer_concat(const InferArgs& a) {
  const size_t axis = checked_axis(a.attributes.get<int64_t>("axis"), a[0].rank());
  Shape shape = a[0].shape;
  shape[axis] = 0;
  for (size_t i = 0; i < a.operands.size(); ++i) {
    if (!a.has(i)) fail("operand {} is absent", i);
    if (a[i].dtype != a[0].dtype)
      fail("operand {} is {} but the first is {}; element types must be equal", i, to_string(a[i]), to_string(a[0]));
    expect_rank(a[i], a[0].rank(), a[0].rank(), "an operand");
    for (size_t d = 0; d < shape.size(); ++d) {
      if (d == axis) continue;
      if (!may_be_same(a[i].shape[d], shape[d]))
        fail("operand {} is {} but the first is {}; they may differ along axis {} only", i, to_string(a[i]),
             to_string(a[0]), axis);
      if (a[i].shape[d].is_constant()) shape[d] = a[i].shape[d];
    }
    shape[axis] = shape[axis] + a[i].shape[axis];
  }
  return {plain_type(a[0].dtype, shape)};
}

std::vector<Tensor> eval_concat(const EvalArgs& a) {
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  const size_t axis = checked_axis(a.attributes.get<int64_t>("axis"), sizes.size());
  std::vector<Tensor> parts;
  for (const Tensor* operand : a.operands) parts.push_back(plain(*operand));
  ElementWriter out(a.results[0].dtype, sizes);
  for (int64_t o = 0; o < around_axis(sizes, axis).outer; ++o)
    for (const Tensor& part : parts) {
      const AxisView view = around_axis(part.shape(), axis);
      out.append(part, o * view.length * view.inner, view.length * view.inner);
    }
  return {out.finish()};
}

std::optional<std::vector<Move>> concat_moves(const MoveArgs& a) {
  const size_t rank = a.shapes[0].size(), axis = checked_axis(a.given.attributes.get<int64_t>("axis"), rank);
  std::vector<Move> moves;
  std::vector<int64_t> start(rank, 0);
  for (size_t i = 0; i < a.shapes.size(); ++i) {
    moves.push_back({.operand = i, .axes = whole_axes(a.shapes[i]), .start = start});
    start[axis] += a.shapes[i][axis];
  }
  return moves;
}

}  // namespace

extern constinit const OpDef concat_def{
    .name = "concat",
    .doc = "The operands one after the other along an axis; their other dimensions are equal.",
    .operands = {several("inputs")},
    .attributes = kAttributes,
    .infer = infer_concat,
    .eval = eval_concat,
    .transposed = transposed_along_axis,
    .moves = true,
    .move_map = concat_moves};

}  // namespace hone
