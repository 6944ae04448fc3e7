// strided_slice: the slices of ONNX, whose bounds may be anything and be computed; `slice` is the op for bounds that
// lie inside and positive steps.
#include "ops/elements.h"
#include "ops/rules.h"
#include "ops/slice_run.h"
#include "ops/transposed.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"starts", AttributeKind::shape, false, "first positions, here or as the second operand"},
    {"ends", AttributeKind::shape, false, "positions before which a slice ends, here or as the third operand"},
    {"axes", AttributeKind::integers, false, "the axis of each start, here or as the fourth operand"},
    {"steps", AttributeKind::shape, false, "distances of positions, here or as the fifth operand; default 1"},
};

bool has_steps(const auto& a) { return a.has(4) || a.attributes.has("steps"); }

// A value for each axis; unknown ones where they are computed.
Shape bounds(const InferArgs& a, size_t operand, const char* what, size_t axes) {
  const std::optional<Shape> given = dims_argument(a, operand, what);
  if (given && given->size() != axes) fail("{} has {} values for {} axes", what, given->size(), axes);
  return given.value_or(Shape(axes, Dim::unknown()));
}

std::vector<TensorType> infer_strided_slice(const InferArgs& a) {
  const std::optional<std::vector<int64_t>> listed = axes_argument(a, 3);
  if (!listed) return {type_of_rank(a[0].dtype, a[0].rank())};
  const std::vector<size_t> axes = checked_axes(*listed, a[0].rank());
  const Shape starts = bounds(a, 1, "starts", axes.size()), ends = bounds(a, 2, "ends", axes.size()),
              steps = has_steps(a) ? bounds(a, 4, "steps", axes.size()) : Shape(axes.size(), Dim(1));
  Shape shape = a[0].shape;
  for (size_t i = 0; i < axes.size(); ++i) {
    std::optional<SliceRun> run;
    if (steps[i].is_constant() && !starts[i].is_unknown() && !ends[i].is_unknown())
      run = slice_run(starts[i], ends[i], steps[i].constant(), shape[axes[i]]);
    shape[axes[i]] = run ? run->count : Dim::unknown();
  }
  return {plain_type(a[0].dtype, shape)};
}

std::vector<Tensor> eval_strided_slice(const EvalArgs& a) {
  const std::vector<int64_t>& sizes = a[0].shape();
  const std::vector<size_t> axes = checked_axes(axes_argument(a, 3), sizes.size());
  const std::vector<int64_t> starts = integers_argument(a, 1, "starts"), ends = integers_argument(a, 2, "ends"),
                             steps =
                                 has_steps(a) ? integers_argument(a, 4, "steps") : std::vector<int64_t>(axes.size(), 1);
  std::vector<int64_t> strides = strides_of(sizes);
  int64_t offset = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const SliceRun run = slice_run(starts[i], ends[i], steps[i], sizes[axes[i]]).value();
    if (const Dim& declared = a.results[0].shape[axes[i]]; declared != run.count)
      fail(
          "positions {} to {} do not lie in axis {}, which has {}; accepted: bounds inside it, as the {} positions of "
          "the result say",
          starts[i], ends[i], axes[i], sizes[axes[i]], declared.to_string());
    offset += run.start.constant() * strides[axes[i]];
    if (run.count.constant() > 1) strides[axes[i]] *= run.step;  // otherwise a step may be longer than any axis
  }
  return {copy_strided(plain(a[0]), sizes_of(a.results[0]), strides, offset)};
}

std::optional<std::vector<Move>> strided_moves(const MoveArgs& a) {
  if (!a.are_known) return std::nullopt;
  return slice_moves(a, has_steps(a.given) ? integers_argument(a.given, 4, "steps") : std::vector<int64_t>());
}

}  // namespace

extern constinit const OpDef strided_slice_def{
    .name = "strided_slice",
    .doc =
        "x[start:end:step] along axes as in ONNX: negative bounds count from the end, bounds outside are clamped, "
        "negative steps walk backward, from the first element where the start lies before it.",
    .operands = {"x", computed("computed_starts"), computed("computed_ends"), computed("computed_axes"),
                 computed("computed_steps")},
    .attributes = kAttributes,
    .infer = infer_strided_slice,
    .eval = eval_strided_slice,
    .transposed = transposed_on_axes,
    .moves = true,
    .move_map = strided_moves};

}  // namespace hone
