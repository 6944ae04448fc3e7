// Tensors made from their shape alone: full (one value) and iota (positions along an axis).
#include <cmath>

#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kFullAttributes[] = {
    {"shape", AttributeKind::shape, false, "of the result; here or as the operand"},
    {"value", AttributeKind::number, true, "of every element"},
    {"dtype", AttributeKind::dtype, false, "default f32"},
};
constexpr AttributeSpec kIotaAttributes[] = {
    {"shape", AttributeKind::shape, true, "of the result; may be symbolic"},
    {"axis", AttributeKind::integer, false, "the axis along which the values count; default 0"},
    {"dtype", AttributeKind::dtype, false, "default i64"},
};

TensorType checked_type(const Attributes& attributes, DType fallback, const Shape& shape) {
  const TensorType type = plain_type(attributes.get_or<DType>("dtype", fallback), shape);
  expect_not_string(type, "the result");
  for (const Dim& dim : type.shape)
    if (dim.is_constant() && dim.constant() < 0) fail("shape {} has a negative dimension", to_string(type.shape));
  return type;
}

std::vector<TensorType> infer_full(const InferArgs& a) {
  std::optional<Shape> shape = dims_argument(a, 0, "shape");
  const std::optional<size_t> rank = shape ? shape->size() : vector_length(a[0], "the shape");
  if (!shape) shape = Shape(rank.value_or(0), Dim::unknown());
  TensorType type = checked_type(a.attributes, DType::f32, *shape);
  const double value = a.attributes.get<double>("value");
  if (!is_float(type.dtype) && value != std::trunc(value))
    fail("value {} is not a whole number but dtype is {}", value, to_string(type.dtype));
  type.ranked = rank.has_value();
  return {type};
}

std::vector<Tensor> eval_full(const EvalArgs& a) {
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  const std::vector<double> values(static_cast<size_t>(element_count(sizes)), a.attributes.get<double>("value"));
  return {Tensor::from_doubles(a.results[0].dtype, sizes, values)};
}

std::vector<TensorType> infer_iota(const InferArgs& a) {
  const TensorType type = checked_type(a.attributes, DType::i64, a.attributes.get<Shape>("shape"));
  if (type.dtype == DType::boolean) fail("dtype is bool; accepted: numbers");
  checked_axis(a.attributes.get_or<int64_t>("axis", 0), type.rank());
  return {type};
}

std::vector<Tensor> eval_iota(const EvalArgs& a) {
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  const AxisView view = around_axis(sizes, checked_axis(a.attributes.get_or<int64_t>("axis", 0), sizes.size()));
  std::vector<int64_t> values(static_cast<size_t>(element_count(sizes)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i) / view.inner % view.length;
  return {Tensor::of<int64_t>(sizes, values).converted(a.results[0].dtype)};
}

}  // namespace

extern constinit const OpDef full_def{.name = "full",
                                      .doc = "A tensor of one value.",
                                      .min_operands = 0,
                                      .attributes = kFullAttributes,
                                      .infer = infer_full,
                                      .eval = eval_full};
extern constinit const OpDef iota_def{.name = "iota",
                                      .doc = "0, 1, 2, ... along an axis, the same for all other positions.",
                                      .min_operands = 0,
                                      .max_operands = 0,
                                      .attributes = kIotaAttributes,
                                      .infer = infer_iota,
                                      .eval = eval_iota};

}  // namespace hone
