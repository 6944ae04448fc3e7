// Operators that make tensors: Constant, ConstantOfShape, Range, EyeLike, OneHot, Trilu.
#include "base/checked.h"
#include "io/onnx/shape_arguments.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/comparison.h"
#include "ops/calls/expand.h"
#include "ops/calls/full.h"
#include "ops/calls/gather.h"
#include "ops/calls/range.h"
#include "ops/calls/reshape.h"

namespace hone {
namespace {

constexpr int64_t kFurthest = int64_t{1} << 62;

template <class T>
Tensor vector_of(const std::vector<T>& values) {
  return Tensor::of<T>({static_cast<int64_t>(values.size())}, values);
}

Tensor strings(std::vector<std::string> values) {
  const auto count = static_cast<int64_t>(values.size());
  return Tensor::strings({count}, std::move(values));
}

Tensor constant_of(OnnxNode& n) {
  if (n.has_attribute("value")) return n.tensor("value");
  if (n.has_attribute("sparse_value")) return n.tensor("sparse_value");
  if (n.has_attribute("value_int")) return Tensor::scalar(n.integer("value_int"));
  if (n.has_attribute("value_ints")) return vector_of(n.integers("value_ints"));
  if (n.has_attribute("value_float")) return Tensor::scalar(static_cast<float>(n.number("value_float")));
  if (n.has_attribute("value_floats")) return vector_of(n.numbers("value_floats")).converted(DType::f32);
  if (n.has_attribute("value_string")) return strings({n.text("value_string")}).reshaped({});
  if (n.has_attribute("value_strings")) return strings(n.texts("value_strings"));
  n.unsupported(
      "no value; supported: the attributes value, sparse_value, value_int(s), value_float(s), value_string(s)");
}

std::vector<ValueId> import_constant(OnnxNode& n) { return {n.constant(constant_of(n))}; }

// `full` holds its value as a double; another (an i64 beyond 2^53) is expanded.
std::vector<ValueId> import_constant_of_shape(OnnxNode& n) {
  const Tensor given = n.has_attribute("value") ? n.tensor("value") : Tensor::scalar(0.0f);
  if (given.elements() != 1 || given.dtype() == DType::string)
    fail("attribute value is {}; expected one number", to_string(given.type()));
  const Tensor value = given.reshaped({});
  const double number = value.to_doubles()[0];
  const bool exact = Tensor::from_doubles(value.dtype(), {}, {&number, 1}).same_bits(value);
  std::vector<ValueId> operands;
  Attributes attributes;
  if (exact) attributes = {{"value", number}, {"dtype", value.dtype()}};
  else operands.push_back(n.constant(value));
  add_dims(n, "shape", 0, operands, attributes);
  return {n.emit({exact ? &full_def : &expand_def, std::move(operands), std::move(attributes)})};
}

// How many numbers a range has, where that is known without data.
std::optional<Dim> range_count(OnnxNode& n) {
  const std::optional<Shape> start = dims_without_data(n, n.in(0)), limit = dims_without_data(n, n.in(1)),
                             step = dims_without_data(n, n.in(2));
  if (!start || !limit || !step || !step->at(0).is_constant()) return std::nullopt;
  const int64_t by = checked_range(step->at(0).constant(), -kFurthest, kFurthest, "the step");
  const Dim length = by < 0 ? start->at(0) - limit->at(0) : limit->at(0) - start->at(0);
  if (by == 0 || length.least().value_or(-1) < 0) return std::nullopt;
  return floordiv(length + (std::abs(by) - 1), std::abs(by));
}

// Where the number of elements is known, positions times the step plus the start.
std::vector<ValueId> import_range(OnnxNode& n) {
  const ValueId start = n.in(0), step = n.in(2);
  const std::optional<Dim> count = range_count(n);
  if (!count || count->is_constant()) return {ops::range(n, {.start = start, .limit = n.in(1), .step = step})};
  ValueId values = ops::iota(n, {.shape = Shape{*count}, .dtype = n.type(start).dtype});
  if (n.dims(step) != Shape{1}) values = ops::mul(n, {values, step});
  if (n.dims(start) != Shape{0}) values = ops::add(n, {values, start});
  return {values};
}

// For every element of a matrix the number of its diagonal, column - row; of the last two axes of x.
ValueId diagonals(OnnxNode& n, ValueId x) {
  const Shape shape = n.shape(x);
  if (shape.size() < 2) n.unsupported("a tensor of less than two dimensions; supported: matrices");
  const Shape matrix(shape.end() - 2, shape.end());
  const ValueId column = ops::iota(n, {.shape = matrix, .axis = 1});
  return ops::sub(n, {column, ops::iota(n, {.shape = matrix, .axis = 0})});
}

std::vector<ValueId> import_eye_like(OnnxNode& n) {
  const ValueId x = n.in(0);
  const ValueId wanted = n.scalar(static_cast<double>(n.integer("k", 0)), DType::i64);
  return {n.cast(ops::equal(n, {diagonals(n, x), wanted}), n.dtype("dtype", n.type(x).dtype))};
}

std::vector<ValueId> import_trilu(OnnxNode& n) {
  const ValueId x = n.in(0);
  const ValueId k = n.has(1) ? n.reshape(n.in(1), {}) : n.scalar(0, DType::i64);
  const ValueId kept =
      n.emit({n.is_not_zero("upper", true) ? &greater_or_equal_def : &less_or_equal_def, {diagonals(n, x), k}});
  return {ops::where(n, {.condition = kept, .a = x, .b = n.scalar(0, n.type(x).dtype)})};
}

// gather(values, index == position): of the two values, off and on, any element type.
std::vector<ValueId> import_one_hot(OnnxNode& n) {
  ValueId index = n.cast(n.in(0), DType::i64);
  const ValueId depth = n.cast(n.reshape(n.in(1), {}), DType::i64);
  const ValueId zero = n.scalar(0, DType::i64), one = n.scalar(1, DType::i64);
  index = ops::where(n, {.condition = ops::less(n, {index, zero}), .a = ops::add(n, {index, depth}), .b = index});
  const auto rank = static_cast<int64_t>(n.rank(index));
  const auto at = static_cast<int64_t>(checked_axis(n.integer("axis", -1), n.rank(index) + 1));
  const std::optional<Shape> known = dims_without_data(n, depth);
  ValueId position =
      known ? ops::iota(n, {.shape = *known}) : ops::range(n, {.start = zero, .limit = depth, .step = one});
  std::vector<int64_t> inner;
  for (int64_t i = at; i < rank; ++i) inner.push_back(i - at + 1);
  if (!inner.empty()) position = ops::unsqueeze(n, {.x = position, .axes = inner});
  index = ops::unsqueeze(n, {.x = index, .axes = std::vector<int64_t>{at}});
  const ValueId hot = n.cast(ops::equal(n, {index, position}), DType::i64);
  return {ops::gather(n, {.table = n.in(2), .indices = hot, .axis = 0})};
}

constexpr OnnxOperator kOperators[] = {
    {"Constant", 1, import_constant},
    {"ConstantOfShape", 9, import_constant_of_shape},
    {"Range", 11, import_range},
    {"EyeLike", 9, import_eye_like},
    {"OneHot", 9, import_one_hot},
    {"Trilu", 14, import_trilu},
    {"Range", 1, import_range, "com.microsoft"},
    {"Trilu", 1, import_trilu, "com.microsoft"},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_creation_def{.name = "creation", .operators = kOperators};

}  // namespace hone
