// Operators that copy elements to other places: Transpose, Concat, Split, Slice, Pad, Tile, ReverseSequence.
#include <numeric>

#include "io/onnx/shape_arguments.h"
#include "ops/rules.h"
#include "ops/slice_run.h"

namespace hone {
namespace {

std::vector<ValueId> import_transpose(OnnxNode& n) {
  const ValueId x = n.in(0);
  if (n.has_attribute("perm")) return {n.transpose(x, n.integers("perm"))};
  return {n.emit("transpose", {x})};
}

std::vector<ValueId> import_concat(OnnxNode& n) {
  return {n.emit("concat", n.all_inputs(), {{"axis", n.integer("axis")}})};
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
  const int64_t axis = n.integer("axis", 0), count = n.outputs();
  std::vector<ValueId> operands = {x};
  Attributes attributes = {{"axis", axis}};
  if (n.has_attribute("split")) attributes.set("sizes", n.integers("split"));
  else if (n.has(1)) add_dims(n, "sizes", n.reshape(n.in(1), {count}), operands, attributes);
  else attributes.set("sizes", equal_parts(n.type(x).shape[checked_axis(axis, n.rank(x))], count));
  return n.emit_all("split", std::move(operands), std::move(attributes));
}

// Bounds or steps of a slice.
struct Bounds {
  std::optional<Shape> known;
  ValueId computed = kNone;
};

Bounds bounds_of(OnnxNode& n, const char* attribute, int operand) {
  if (n.has_attribute(attribute)) return {to_shape(n.integers(attribute))};
  if (!n.has(operand)) return {};
  std::optional<Shape> known = n.dims(n.in(operand));
  return {known, known ? kNone : n.in(operand)};
}

std::vector<int64_t> sliced_axes(OnnxNode& n, const Bounds& starts) {
  if (std::optional<std::vector<int64_t>> axes = axes_of(n, 3)) return *axes;
  const std::optional<size_t> count =
      starts.known ? starts.known->size() : vector_length(n.type(starts.computed), "starts");
  if (!count) n.unsupported("a slice of an unknown number of axes; supported: axes that are known");
  std::vector<int64_t> axes(*count);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// Attributes of the op `slice`, where all bounds are known to lie inside; axes that are taken whole are left out.
std::optional<Attributes> slice_attributes(const TensorType& x, const std::vector<int64_t>& axes, const Bounds& starts,
                                           const Bounds& ends, const Shape& steps) {
  if (!x.ranked || !starts.known || !ends.known || !is_constant(steps)) return std::nullopt;
  Shape first, last;
  std::vector<int64_t> sliced, distances;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Dim& length = x.shape[checked_axis(axes[i], x.rank())];
    const std::optional<SliceRun> run = slice_run(starts.known->at(i), ends.known->at(i), steps[i].constant(), length);
    if (!run || run->step < 0) return std::nullopt;
    if (run->start == Dim(0) && run->end == length && run->step == 1) continue;
    first.push_back(run->start), last.push_back(run->end);
    sliced.push_back(axes[i]), distances.push_back(run->step);
  }
  return Attributes{{"starts", first}, {"ends", last}, {"axes", sliced}, {"steps", distances}};
}

std::vector<ValueId> import_slice(OnnxNode& n) {
  const ValueId x = n.in(0);
  const Bounds starts = bounds_of(n, "starts", 1), ends = bounds_of(n, "ends", 2), steps = bounds_of(n, "steps", 4);
  const std::vector<int64_t> axes = sliced_axes(n, starts);
  const bool unit = !steps.known && steps.computed == kNone;
  const Shape known_steps = unit ? Shape(axes.size(), Dim(1)) : steps.known.value_or(Shape());
  if (const auto inside = slice_attributes(n.type(x), axes, starts, ends, known_steps))
    return {inside->get<Shape>("starts").empty() ? x : n.emit("slice", {x}, *inside)};
  std::vector<ValueId> operands = {x, starts.computed, ends.computed, steps.computed};
  Attributes attributes = {{"axes", axes}};
  if (starts.known) attributes.set("starts", *starts.known);
  if (ends.known) attributes.set("ends", *ends.known);
  if (steps.known) attributes.set("steps", *steps.known);
  return {n.emit("strided_slice", std::move(operands), std::move(attributes))};
}

// The value of the border, the amounts and the axes are attributes before 11 and operands since.
std::vector<ValueId> import_pad(OnnxNode& n) {
  const ValueId x = n.in(0);
  Attributes attributes = {{"mode", n.text("mode", "constant")}};
  if (const std::optional<std::vector<int64_t>> axes = axes_of(n, 3)) attributes.set("axes", *axes);
  std::vector<ValueId> operands = {x, kNone};
  if (n.has(2)) operands[1] = n.reshape(n.in(2), {});
  else if (n.has_attribute("value")) operands[1] = n.scalar(n.number("value"), n.type(x).dtype);
  if (n.has_attribute("pads")) attributes.set("pads", to_shape(n.integers("pads")));
  else add_dims(n, "pads", n.in(1), operands, attributes);
  return {n.emit("pad", std::move(operands), std::move(attributes))};
}

std::vector<ValueId> import_tile(OnnxNode& n) {
  std::vector<ValueId> operands = {n.in(0)};
  Attributes attributes;
  add_dims(n, "repeats", n.in(1), operands, attributes);
  return {n.emit("tile", std::move(operands), std::move(attributes))};
}

std::vector<ValueId> import_reverse_sequence(OnnxNode& n) {
  return {n.emit("reverse_sequence", {n.in(0), n.in(1)},
                 {{"time_axis", n.integer("time_axis", 0)}, {"batch_axis", n.integer("batch_axis", 1)}})};
}

constexpr OnnxOperator kOperators[] = {
    {"Transpose", 1, import_transpose},
    {"Concat", 4, import_concat},
    {"Split", 2, import_split},
    {"Slice", 1, import_slice},
    {"Pad", 2, import_pad},
    {"Tile", 6, import_tile},
    {"ReverseSequence", 10, import_reverse_sequence},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_moves_def{.name = "moves", .operators = kOperators};

}  // namespace hone
