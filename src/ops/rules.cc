#include "ops/rules.h"

#include <algorithm>

#include "ir/graph.h"
#include "ir/node_rules.h"

namespace hone {
namespace {

constexpr int64_t kMostListed = 1 << 16;  // values of a list of sizes or axes: one for each part of a split, say

std::vector<int64_t> listed(const Tensor& tensor, const char* what) {
  if (tensor.elements() > kMostListed)
    fail("{} has {} values; accepted: up to {}", what, tensor.elements(), kMostListed);
  return tensor.to_integers();
}

}  // namespace

std::vector<size_t> checked_axes(const std::vector<int64_t>& axes, size_t rank) {
  if (axes.size() > rank) fail("{} axes are listed, but there are {} dimensions", axes.size(), rank);
  std::vector<size_t> result;
  for (int64_t axis : axes) {
    const size_t checked = checked_axis(axis, rank);
    if (std::find(result.begin(), result.end(), checked) != result.end()) fail("axis {} is listed twice", checked);
    result.push_back(checked);
  }
  return result;
}

void expect_rank(const TensorType& type, size_t least, size_t most, const char* what) {
  if (type.rank() >= least && type.rank() <= most) return;
  const std::string accepted = least == most ? std::to_string(least) : fmt::format("{} to {}", least, most);
  fail("{} is {} with {} dimensions; accepted: {}", what, to_string(type), type.rank(), accepted);
}

void expect_float(const TensorType& type, const char* what) {
  if (!is_float(type.dtype))
    fail("{} is {}; accepted element types: f64, f32, bf16, f16 and packed formats", what, to_string(type));
}

void expect_index(const TensorType& type, const char* what) {
  if (type.dtype != DType::i64 && type.dtype != DType::i32)
    fail("{} is {}; accepted element types: i64, i32", what, to_string(type));
}

void expect_not_string(const TensorType& type, const char* what) {
  if (type.dtype == DType::string) fail("{} is {}; strings are not accepted here", what, to_string(type));
}

void expect_string(const TensorType& type, const char* what) {
  if (type.dtype != DType::string) fail("{} is {}; accepted: strings", what, to_string(type));
}

void expect_dim(const Dim& found, const Dim& wanted, const char* what) {
  if (!may_be_same(found, wanted)) fail("{} is {} but must be {}", what, found.to_string(), wanted.to_string());
}

void expect_sizes(const Shape& sizes, const char* what) {
  for (const Dim& size : sizes)
    if (size.is_constant() && size.constant() < 0)
      fail("{} holds {}; each size must be at least 0", what, size.constant());
}

void expect_positive(int64_t value, const char* what) {
  if (value < 1) fail("{} is {}; it must be at least 1", what, value);
}

DType sum_dtype(const InferArgs& a, size_t first, size_t second) {
  const bool doubles = a[first].dtype == DType::f64 || a[second].dtype == DType::f64;
  return doubles ? DType::f64 : DType::f32;
}

DType products_dtype(const InferArgs& a, const char* x, const char* w) {
  const auto is_byte = [&](size_t i) { return a[i].dtype == DType::i8 || a[i].dtype == DType::u8; };
  if (is_byte(0) && is_byte(1)) return DType::i32;
  if (is_byte(0) != is_byte(1))
    fail("{} is {} and {} is {}; integers of 8 bits only go with their like", x, to_string(a[0]), w, to_string(a[1]));
  expect_float(a[0], x);
  expect_float(a[1], w);
  return sum_dtype(a, 0, 1);
}

void expect_added(const TensorType& type, DType sums, const char* what) {
  if (is_float(sums)) return expect_float(type, what);
  if (type.dtype != sums) fail("{} is {}; sums of integers take {}", what, to_string(type), to_string(sums));
}

std::optional<Shape> dims_argument(const InferArgs& a, size_t operand, const char* attribute) {
  if (a.attributes.has(attribute)) return a.attributes.get<Shape>(attribute);
  if (!a.has(operand)) fail("neither attribute {} nor operand {} is given", attribute, operand);
  expect_index(a[operand], attribute);
  if (!a.constants[operand]) return std::nullopt;
  return to_shape(listed(*a.constants[operand], attribute));
}

Dim dim_argument(const InferArgs& a, size_t operand, const char* attribute, int64_t least) {
  const std::optional<Shape> values = dims_argument(a, operand, attribute);
  if (!values) return Dim::unknown();
  if (values->size() != 1) fail("{} has {} values; accepted: 1", attribute, values->size());
  const Dim& value = values->front();
  if (value.is_constant() && value.constant() < least)
    fail("{} is {}; it must be at least {}", attribute, value.constant(), least);
  return value;
}

std::vector<int64_t> integers_argument(const EvalArgs& a, size_t operand, const char* attribute) {
  if (a.attributes.has(attribute)) return constant_shape(a.attributes.get<Shape>(attribute));
  return a[operand].to_integers();
}

std::optional<std::vector<int64_t>> axes_argument(const InferArgs& a, size_t operand) {
  if (a.attributes.has("axes")) return a.attributes.get<std::vector<int64_t>>("axes");
  if (!a.has(operand)) fail("neither attribute axes nor operand {} is given", operand);
  expect_index(a[operand], "axes");
  if (!a.constants[operand]) return std::nullopt;
  return listed(*a.constants[operand], "axes");
}

std::vector<int64_t> axes_argument(const EvalArgs& a, size_t operand) {
  if (a.attributes.has("axes")) return a.attributes.get<std::vector<int64_t>>("axes");
  return a[operand].to_integers();
}

std::optional<size_t> vector_length(const TensorType& type, const char* what) {
  if (!type.ranked) return std::nullopt;
  expect_rank(type, 1, 1, what);
  if (!type.shape[0].is_constant()) return std::nullopt;
  const int64_t length = type.shape[0].constant();
  if (length > kMostListed) fail("{} has {} values; accepted: up to {}", what, length, kMostListed);
  return static_cast<size_t>(length);
}

TensorType plain_type(DType dtype, Shape shape) { return {.dtype = dtype, .shape = std::move(shape), .format = {}}; }

TensorType type_of_rank(DType dtype, std::optional<size_t> rank) {
  if (!rank) return TensorType::unranked(dtype);
  if (*rank > kMostDimensions) fail("a tensor of {} dimensions; accepted: up to {}", *rank, kMostDimensions);
  return plain_type(dtype, Shape(*rank, Dim::unknown()));
}

// A packed tensor reads as its decoded values, whatever the body was written for.
void expect_body_input(const Graph& body, size_t input, const TensorType& given) {
  const Value& value = body.value(body.inputs()[input]);
  TensorType wanted = value.type, found = given;
  wanted.format = found.format = std::nullopt;
  if (!may_be_same(wanted, found))
    fail("input %{} of body {} is {} but is given {}", value.name, body.name, to_string(value.type), to_string(given));
}

std::vector<int64_t> integers_or(const Attributes& attributes, const char* name, std::vector<int64_t> fallback,
                                 size_t count, int64_t least) {
  std::vector<int64_t> values = attributes.get_or<std::vector<int64_t>>(name, std::move(fallback));
  if (values.size() != count) fail("{} has {} values; accepted: {}", name, values.size(), count);
  for (int64_t value : values)
    if (value < least) fail("{} holds {}; each value must be at least {}", name, value, least);
  return values;
}

}  // namespace hone
