// slice: a regular part of a tensor. Bounds must lie inside: a part that does not exist is an Error, not a shorter
// part.
#include "ops/elements.h"
#include "ops/rules.h"
#include "ops/slice_run.h"
#include "ops/transposed.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"starts", AttributeKind::shape, true, "first position per axis; negative ones count from the end"},
    {"ends", AttributeKind::shape, true, "position after the last; negative ones count from the end"},
    {"axes", AttributeKind::integers, false, "axes that are sliced; default: the first ones"},
    {"steps", AttributeKind::integers, false, "distance between positions, at least 1; default 1"},
};

struct Part {
  size_t axis;
  Dim start, count;
  int64_t step;
};

Dim from_front(const Dim& position, const Dim& length) {
  return position.is_constant() && position.constant() < 0 ? position + length : position;
}

Part checked_part(size_t axis, const Dim& start, const Dim& end, int64_t step, const Dim& length) {
  const Dim first = from_front(start, length), last = from_front(end, length);
  const Dim room = length - last, span = last - first;
  const auto negative = [](const Dim& d) { return d.is_constant() && d.constant() < 0; };
  if (negative(first) || negative(room) || negative(span))
    fail("positions {} to {} do not lie in axis {}, which has {}; accepted: 0 <= start <= end <= {}", first.to_string(),
         last.to_string(), axis, length.to_string(), length.to_string());
  return {axis, first, floordiv(span + (step - 1), step), step};
}

std::vector<Part> parts(const Attributes& attributes, const Shape& shape) {
  const Shape &starts = attributes.get<Shape>("starts"), &ends = attributes.get<Shape>("ends");
  if (starts.size() != ends.size()) fail("starts has {} positions but ends has {}", starts.size(), ends.size());
  std::vector<int64_t> axes = attributes.get_or<std::vector<int64_t>>("axes", {});
  if (!attributes.has("axes"))
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (axes.size() != starts.size()) fail("starts has {} positions but axes has {}", starts.size(), axes.size());
  const std::vector<size_t> checked = checked_axes(axes, shape.size());
  const std::vector<int64_t> steps =
      integers_or(attributes, "steps", std::vector<int64_t>(starts.size(), 1), starts.size(), 1);
  std::vector<Part> result;
  for (size_t i = 0; i < checked.size(); ++i)
    result.push_back(checked_part(checked[i], starts[i], ends[i], steps[i], shape[checked[i]]));
  return result;
}

std::vector<TensorType> infer_slice(const InferArgs& a) {
  Shape shape = a[0].shape;
  for (const Part& part : parts(a.attributes, a[0].shape)) shape[part.axis] = part.count;
  return {plain_type(a[0].dtype, shape)};
}

std::vector<Tensor> eval_slice(const EvalArgs& a) {
  std::vector<int64_t> strides = strides_of(a[0].shape());
  int64_t offset = 0;
  for (const Part& part : parts(a.attributes, to_shape(a[0].shape()))) {
    offset += part.start.constant() * strides[part.axis];
    if (part.count.constant() > 1) strides[part.axis] *= part.step;  // otherwise a step may be longer than any axis
  }
  return {copy_strided(plain(a[0]), sizes_of(a.results[0]), strides, offset)};
}

}  // namespace

extern constinit const OpDef slice_def{
    .name = "slice",
    .doc = "x[start:end:step] along axes. The bounds may be symbolic and must lie inside x.",
    .attributes = kAttributes,
    .infer = infer_slice,
    .eval = eval_slice,
    .transposed = transposed_on_axes,
    .moves = true,
    .move_map = [](const MoveArgs& a) {
      return slice_moves(a, a.given.attributes.get_or<std::vector<int64_t>>("steps", {}));
    }};

}  // namespace hone
