// Operators that copy elements to other places: Transpose, Concat, Split, Slice, Pad, Tile, ReverseSequence.
#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "io/onnx/shape_arguments.h"
#include "ops/calls/concat.h"
#include "ops/calls/pad.h"
#include "ops/calls/reverse_sequence.h"
#include "ops/calls/slice.h"
#include "ops/calls/split.h"
#include "ops/calls/strided_slice.h"
#include "ops/calls/tile.h"
#include "ops/calls/transpose.h"
#include "ops/rules.h"
#include "ops/slice_run.h"

namespace hone {
namespace {

constexpr int64_t kMostParts = 1 << 16, kMostAxes = 64;

std::vector<ValueId> import_transpose(OnnxNode& n) {
  const ValueId x = n.in(0);
  if (n.has_attribute("perm")) return {n.transpose(x, n.integers("perm"))};
  return {ops::transpose(n, {x})};
}

std::vector<ValueId> import_concat(OnnxNode& n) {
  return {ops::concat(n, {.inputs = n.all_inputs(), .axis = n.integer("axis")})};
}

// Parts of one length, but for the last, which has what is left.
Shape equal_parts(const Dim& length, int64_t count) {
  const Dim each = floordiv(length + (count - 1), count);
  Shape sizes(static_cast<size_t>(count), each);
  sizes.back() = length - each * (count - 1);
  return sizes;
}

std::vector<ValueId> import_split(OnnxNode& n) {
  const ValueId x = n.in(0);
  const int64_t axis = n.integer("axis", 0), count = checked_range(n.outputs(), 1, kMostParts, "the number of outputs");
  std::vector<ValueId> operands = {x};
  Attributes attributes = {{"axis", axis}};
  if (n.has_attribute("split")) attributes.set("sizes", n.sizes("split"));
  else if (n.has(1)) add_dims(n, "sizes", 1, operands, attributes);
  else attributes.set("sizes", equal_parts(n.shape(x)[checked_axis(axis, n.rank(x))], count));
  return n.emit_all({&split_def, std::move(operands), std::move(attributes)});
}

// Without axes, the first ones are sliced: one for each start.
std::vector<int64_t> leading_axes(const OnnxNode& n, const Attributes& attributes, ValueId starts) {
  const std::optional<size_t> count =
      attributes.has("starts") ? attributes.get<Shape>("starts").size() : vector_length(n.type(starts), "starts");
  if (!count) n.unsupported("starts of unknown length without axes; supported: axes, or starts of known length");
  if (n.type(n.in(0)).ranked && *count > n.rank(n.in(0)))
    fail("starts has {} values; {} has fewer dimensions", *count, to_string(n.type(n.in(0))));
  checked_range(static_cast<int64_t>(*count), 0, kMostAxes, "the number of starts");
  std::vector<int64_t> axes(*count);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// The attributes of a strided_slice as those of a slice, where all bounds are known to lie inside x. Axes that are
// taken whole are left out.
std::optional<Attributes> bounds_inside(const TensorType& x, const Attributes& attributes) {
  const auto &starts = attributes.get<Shape>("starts"), &ends = attributes.get<Shape>("ends");
  const auto& axes = attributes.get<std::vector<int64_t>>("axes");
  const Shape steps = attributes.get_or<Shape>("steps", Shape(axes.size(), Dim(1)));
  if (starts.size() != axes.size() || ends.size() != axes.size() || steps.size() != axes.size()) return std::nullopt;
  Shape first, last;
  std::vector<int64_t> sliced, distances;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Dim& length = x.shape[checked_axis(axes[i], x.rank())];
    if (!steps[i].is_constant() || steps[i].constant() < 0) return std::nullopt;
    const std::optional<SliceRun> run = slice_run(starts[i], ends[i], steps[i].constant(), length);
    if (!run) return std::nullopt;
    if (run->start == Dim(0) && run->end == length && run->step == 1) continue;
    first.push_back(run->start), last.push_back(run->end);
    sliced.push_back(axes[i]), distances.push_back(run->step);
  }
  return Attributes{{"starts", first}, {"ends", last}, {"axes", sliced}, {"steps", distances}};
}

std::vector<ValueId> import_slice(OnnxNode& n) {
  const ValueId x = n.in(0);
  std::vector<ValueId> operands = {x};
  Attributes attributes;
  add_dims(n, "starts", 1, operands, attributes);
  add_dims(n, "ends", 2, operands, attributes);
  for (const auto& [name, operand] : {std::pair{"starts", 1}, {"ends", 2}})
    if (!attributes.has(name) && operands[static_cast<size_t>(operand)] == kNone) fail("{} is missing", name);
  add_axes(n, 3, operands, attributes);
  if (!attributes.has("axes") && operands[3] == kNone) attributes.set("axes", leading_axes(n, attributes, operands[1]));
  add_dims(n, "steps", 4, operands, attributes);
  const bool known = std::count(operands.begin(), operands.end(), kNone) == 4;
  const std::optional<Attributes> inside =
      known && n.type(x).ranked ? bounds_inside(n.type(x), attributes) : std::nullopt;
  if (!inside) return {n.emit({&strided_slice_def, std::move(operands), std::move(attributes)})};
  return {inside->get<Shape>("starts").empty() ? x : n.emit({&slice_def, {x}, *inside})};
}

// The value of the border and the amounts are attributes before 11.
std::vector<ValueId> import_pad(OnnxNode& n) {
  const ValueId x = n.in(0);
  std::vector<ValueId> operands = {x, kNone};
  Attributes attributes = {{"mode", n.text("mode", "constant")}};
  if (n.has(2)) operands[1] = n.reshape(n.in(2), {});
  else if (n.has_attribute("value")) operands[1] = n.scalar(n.number("value"), n.type(x).dtype);
  add_dims(n, "pads", 1, operands, attributes);
  add_axes(n, 3, operands, attributes);
  return {n.emit({&pad_def, std::move(operands), std::move(attributes)})};
}

std::vector<ValueId> import_tile(OnnxNode& n) {
  std::vector<ValueId> operands = {n.in(0)};
  Attributes attributes;
  add_dims(n, "repeats", 1, operands, attributes);
  return {n.emit({&tile_def, std::move(operands), std::move(attributes)})};
}

std::vector<ValueId> import_reverse_sequence(OnnxNode& n) {
  return {ops::reverse_sequence(n, {.x = n.in(0),
                                    .lengths = n.in(1),
                                    .time_axis = n.integer("time_axis", 0),
                                    .batch_axis = n.integer("batch_axis", 1)})};
}

constexpr OnnxOperator kOperators[] = {
    {"Transpose", 1, import_transpose},
    {"Concat", 4, import_concat},
    {"Split", 2, import_split},
    {"Slice", 1, import_slice},
    {"Pad", 2, import_pad},
    {"Pad", 1, import_pad, "com.microsoft"},
    {"Tile", 6, import_tile},
    {"ReverseSequence", 10, import_reverse_sequence},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_moves_def{.name = "moves", .operators = kOperators};

}  // namespace hone
