// Ops that move elements, or make tensors from their shape alone. Sizes may be symbolic: then the model computes them.
#include "io/onnx/export_direct.h"

namespace hone::onnx {
namespace {

using Integers = std::vector<int64_t>;

Names reshape(const ExportNode& n) {
  if (!n.attributes().has("shape")) {
    const bool copies = n.integer("copy_zeros", 0) != 0;
    return {n.emit("Reshape", {n.in(0), n.in_as(1, DType::i64)}, {{"allowzero", int64_t{!copies}}})};
  }
  // A dimension left open is known from the type, unless that depends on data.
  Shape to = n.attributes().get<Shape>("shape");
  for (size_t i = 0; i < to.size() && n.result_type().ranked; ++i)
    if (to[i] == Dim(-1) && n.result_type().shape[i].is_constant()) to[i] = n.result_type().shape[i];
  return {n.reshape(n.in(0), n.type(0).shape, to)};
}

Names flatten(const ExportNode& n) { return {n.emit("Flatten", {n.in(0)}, {{"axis", n.integer("axis", 1)}})}; }

// Axes that are an attribute or an operand; all, where they are neither.
std::string axes_argument(const ExportNode& n, size_t operand) {
  return n.attributes().has("axes") ? n.integers(n.attributes().get<Integers>("axes")) : n.in_as(operand, DType::i64);
}

Names squeeze(const ExportNode& n) { return {n.emit("Squeeze", {n.in(0), axes_argument(n, 1)})}; }
Names unsqueeze(const ExportNode& n) { return {n.emit("Unsqueeze", {n.in(0), axes_argument(n, 1)})}; }

Names transpose(const ExportNode& n) {
  if (!n.attributes().has("perm")) return {n.emit("Transpose", {n.in(0)})};
  Integers perm = n.attributes().get<Integers>("perm");
  for (int64_t& axis : perm) axis = axis < 0 ? axis + static_cast<int64_t>(perm.size()) : axis;
  return {n.transpose(n.in(0), perm)};
}

Names expand(const ExportNode& n) { return {n.emit("Expand", {n.in(0), n.sizes_argument("shape", 1)})}; }

Names concat(const ExportNode& n) { return {n.emit("Concat", n.all_in(), {{"axis", n.integer("axis", 0)}})}; }

std::string axes_of(const ExportNode& n, size_t count) {
  Integers axes;
  for (size_t i = 0; i < count; ++i) axes.push_back(static_cast<int64_t>(i));
  return n.integers(n.attributes().get_or<Integers>("axes", axes));
}

Names slice(const ExportNode& n) {
  const Shape &starts = n.attributes().get<Shape>("starts"), &ends = n.attributes().get<Shape>("ends");
  Names inputs{n.in(0), n.sizes(starts), n.sizes(ends), axes_of(n, starts.size())};
  if (n.attributes().has("steps")) inputs.push_back(n.integers(n.attributes().get<Integers>("steps")));
  return {n.emit("Slice", inputs)};
}

Names strided_slice(const ExportNode& n) {
  return {n.emit("Slice", {n.in(0), n.sizes_argument("starts", 1), n.sizes_argument("ends", 2), axes_argument(n, 3),
                           n.sizes_argument("steps", 4)})};
}

Names split(const ExportNode& n) {
  return n.emit_all("Split", {n.in(0), n.sizes_argument("sizes", 1)}, n.take({"axis"}), n.node().results.size());
}

Names tile(const ExportNode& n) { return {n.emit("Tile", {n.in(0), n.sizes_argument("repeats", 1)})}; }

Names pad(const ExportNode& n) {
  Attributes attributes = n.take({"mode"});
  if (n.attributes().get_or<std::string>("mode", "") == "wrap") n.needs(19, "Pad with mode wrap");
  Names inputs{n.in(0), n.sizes_argument("pads", 2), n.in(1)};
  if (const std::string axes = axes_argument(n, 3); !axes.empty()) {
    n.needs(18, "Pad along some of the axes");
    inputs.push_back(axes);
  }
  return {n.emit("Pad", inputs, attributes)};
}

Names range(const ExportNode& n) { return {n.emit("Range", n.all_in())}; }

Names shape_of(const ExportNode& n) { return {n.emit("Shape", {n.in(0)})}; }

Names full(const ExportNode& n) {
  // ConstantOfShape has no bfloat16 before opset 20.
  const DType wanted = n.result_type().dtype, dtype = wanted == DType::bf16 || is_small(wanted) ? DType::f32 : wanted;
  const Tensor value = Tensor::from_doubles(dtype, {1}, std::vector<double>{n.attributes().get<double>("value")});
  return {n.cast(n.emit("ConstantOfShape", {n.sizes_argument("shape", 0)}, {{"value", value}}), dtype, wanted)};
}

// A range along the axis, repeated along the others.
Names iota(const ExportNode& n) {
  const Shape& shape = n.result_type().shape;
  const int64_t given = n.integer("axis", 0);
  const auto axis = static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(shape.size()) : given);
  const std::string length = n.emit("Squeeze", {n.sizes({shape[axis]})});
  std::string range =
      n.emit("Range", {n.constant(Tensor::scalar<int64_t>(0)), length, n.constant(Tensor::scalar<int64_t>(1))});
  if (shape.size() > 1) {
    Integers along(shape.size(), 1);
    along[axis] = -1;
    range = n.emit("Expand", {n.emit("Reshape", {range, n.integers(along)}), n.sizes(shape)});
  }
  return {n.cast(range, DType::i64, n.result_type().dtype)};
}

constexpr ExportRule kRules[] = {{"concat", concat},
                                 {"expand", expand},
                                 {"flatten", flatten},
                                 {"full", full},
                                 {"iota", iota},
                                 {"pad", pad},
                                 {"range", range},
                                 {"reshape", reshape},
                                 {"shape_of", shape_of},
                                 {"slice", slice},
                                 {"split", split},
                                 {"squeeze", squeeze},
                                 {"strided_slice", strided_slice},
                                 {"tile", tile},
                                 {"transpose", transpose},
                                 {"unsqueeze", unsqueeze}};

}  // namespace

std::span<const ExportRule> shape_rules() { return kRules; }

}  // namespace hone::onnx
