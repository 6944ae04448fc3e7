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

void expect_sizes(const Shape& shape) {
  for (const Dim& dim : shape)
    if (dim.is_constant() && dim.constant() < 0) fail("shape {} has a negative dimension", to_string(shape));
}

std::vector<TensorType> infer_full(const InferArgs& a) {
  const std::optional<Shape> shape = dims_argument(a, 0, "shape");
  if (shape) expect_sizes(*shape);
  const DType dtype = a.attributes.get_or<DType>("dtype", DType::f32);
  const TensorType type = shape ? plain_type(dtype, *shape) : type_of_rank(dtype, vector_length(a[0], "the shape"));
  expect_not_string(type, "the result");
  const double value = a.attributes.get<double>("value");
  if (!is_float(type.dtype) && value != std::trunc(value))
    fail("value {} is not a whole number but dtype is {}", value, to_string(type.dtype));
  return {type};
}

std::vector<Tensor> eval_full(const EvalArgs& a) {
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  const double value = a.attributes.get<double>("value");
  const Tensor one = Tensor::from_doubles(a.results[0].dtype, {}, {&value, 1});
  return {copy_strided(one, sizes, std::vector<int64_t>(sizes.size(), 0))};
}

std::vector<TensorType> infer_iota(const InferArgs& a) {
  const TensorType type = plain_type(a.attributes.get_or<DType>("dtype", DType::i64), a.attributes.get<Shape>("shape"));
  expect_sizes(type.shape);
  if (type.dtype == DType::boolean || type.dtype == DType::string)
    fail("dtype is {}; accepted: numbers", to_string(type.dtype));
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
                                      .operands = {computed("computed_shape")},
                                      .attributes = kFullAttributes,
                                      .infer = infer_full,
                                      .eval = eval_full,
                                      .no_gradient = "its result does not depend on the value of any float"};
extern constinit const OpDef iota_def{.name = "iota",
                                      .doc = "0, 1, 2, ... along an axis, the same for all other positions.",
                                      .operands = {},
                                      .attributes = kIotaAttributes,
                                      .infer = infer_iota,
                                      .eval = eval_iota,
                                      .no_gradient = "its result does not depend on the value of any float"};

}  // namespace hone
