// Operators that ask for shapes or change them: Shape, Size, Reshape, Flatten, Squeeze, Unsqueeze, Expand.
#include <algorithm>

#include "io/onnx/shape_arguments.h"
#include "ir/unbacked.h"
#include "ops/calls/expand.h"
#include "ops/calls/reshape.h"
#include "ops/calls/shape_of.h"
#include "ops/calls/slice.h"
#include "ops/calls/strided_slice.h"
#include "ops/slice_run.h"

namespace hone {
namespace {

constexpr int64_t kToTheEnd = std::numeric_limits<int64_t>::max();

std::vector<ValueId> import_shape(OnnxNode& n) {
  const ValueId x = n.in(0);
  const int64_t start = n.integer("start", 0), end = n.integer("end", kToTheEnd);
  if (!n.type(x).ranked) {
    const Attributes bounds = {{"axes", std::vector<int64_t>{0}}, {"starts", Shape{start}}, {"ends", Shape{end}}};
    return {n.emit({&strided_slice_def, {ops::shape_of(n, {x})}, bounds})};
  }
  const Shape sizes = n.shape(x);
  const std::optional<SliceRun> found = slice_run(start, end, 1, static_cast<int64_t>(sizes.size()));
  if (!found) fail("start is {} and end {}; expected places in {}", start, end, to_string(sizes));
  const SliceRun& run = *found;
  const Shape wanted(sizes.begin() + run.start.constant(), sizes.begin() + run.end.constant());
  if (is_constant(wanted)) return {n.constant_integers(constant_shape(wanted))};
  const ValueId all = ops::shape_of(n, {x});
  if (wanted.size() == sizes.size()) return {all};
  return {ops::slice(n, {.x = all, .starts = Shape{run.start}, .ends = Shape{run.end}})};
}

// The shape of x as a vector has one element: symbolic sizes stay known as symbols.
std::vector<ValueId> import_size(OnnxNode& n) {
  const ValueId x = n.in(0);
  if (n.type(x).is_static()) return {n.constant(Tensor::scalar(element_count(constant_shape(n.type(x).shape))))};
  return {n.reshape(ops::shape_of(n, {n.reshape(x, {-1})}), {})};
}

// Where the shape is known: each 0 replaced by the dimension that it copies.
std::optional<Shape> known_shape(OnnxNode& n, const TensorType& x, bool copies_zeros) {
  std::optional<Shape> shape = dims_without_data(n, n.in(1));
  for (size_t i = 0; shape && copies_zeros && i < shape->size(); ++i) {
    if (!((*shape)[i] == Dim(0))) continue;
    if (!x.ranked || i >= x.rank()) return std::nullopt;
    if (depends_on_data(x.shape[i])) return std::nullopt;
    (*shape)[i] = x.shape[i];
  }
  return shape;
}

std::vector<ValueId> import_reshape(OnnxNode& n) {
  const ValueId x = n.in(0);
  const bool copies_zeros = !n.is_one("allowzero", false);
  if (const std::optional<Shape> shape = known_shape(n, n.type(x), copies_zeros)) return {n.reshape(x, *shape)};
  return {ops::reshape(n, {.x = x, .computed_shape = n.in(1), .copy_zeros = copies_zeros})};
}

std::vector<ValueId> import_flatten(OnnxNode& n) {
  return {ops::flatten(n, {.x = n.in(0), .axis = n.integer("axis", 1)})};
}

std::vector<ValueId> import_along_axes(OnnxNode& n, const OpDef& op) {
  std::vector<ValueId> operands = {n.in(0)};
  Attributes attributes;
  add_axes(n, 1, operands, attributes);
  return {n.emit({&op, std::move(operands), std::move(attributes)})};
}

std::vector<ValueId> import_squeeze(OnnxNode& n) { return import_along_axes(n, squeeze_def); }
std::vector<ValueId> import_unsqueeze(OnnxNode& n) { return import_along_axes(n, unsqueeze_def); }

std::vector<ValueId> import_expand(OnnxNode& n) {
  std::vector<ValueId> operands = {n.in(0)};
  Attributes attributes;
  add_dims(n, "shape", 1, operands, attributes);
  return {n.emit({&expand_def, std::move(operands), std::move(attributes)})};
}

constexpr OnnxOperator kOperators[] = {
    {"Shape", 1, import_shape},     {"Size", 1, import_size},       {"Reshape", 5, import_reshape},
    {"Flatten", 1, import_flatten}, {"Squeeze", 1, import_squeeze}, {"Unsqueeze", 1, import_unsqueeze},
    {"Expand", 8, import_expand},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_shapes_def{.name = "shapes", .operators = kOperators};

}  // namespace hone
