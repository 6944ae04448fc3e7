// Ops that hand elements on: cast to another type, identity, and dropout, which does nothing in inference.
#include <algorithm>

#include "ir/compute_column.h"
#include "ops/pointwise_args.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kCastAttributes[] = {{"dtype", AttributeKind::dtype, true, "element type of the result"}};
constexpr AttributeSpec kDropoutAttributes[] = {
    {"ratio", AttributeKind::number, false, "share of elements dropped in training"}};

Expr cast_elements(Args a) {
  const DType to = a.attributes.get<DType>("dtype");
  if (to == DType::string) fail("a cast to string is not supported; accepted: bool, integers and floats");
  return cast_element(to, a[0]);
}

const SmallFloat& small_float_of(const Attributes& attributes) {
  const DType dtype = attributes.get<DType>("dtype");
  const SmallFloat* type = small_float(dtype);
  if (!type) fail("dtype is {}; accepted: floats of eight bits and less", to_string(dtype));
  return *type;
}

std::vector<TensorType> infer_unsaturated(const InferArgs& a) {
  expect_not_string(a[0], "x");
  small_float_of(a.attributes);
  return {plain_type(a.attributes.get<DType>("dtype"), a[0].shape)};
}

std::vector<Tensor> eval_unsaturated(const EvalArgs& a) {
  const SmallFloat& type = small_float_of(a.attributes);
  const std::vector<float> x = a[0].to_floats();
  Tensor result(a.results[0].dtype, a[0].shape());
  std::ranges::transform(x, result.mutable_as<uint8_t>().begin(),
                         [&](float value) { return encode_small_float(type, value, false); });
  return {result};
}

}  // namespace

extern constinit const OpDef cast_def{.name = "cast",
                                      .doc =
                                          "x in another element type: floats round to nearest even; float to integer "
                                          "truncates and saturates, NaN gives 0; integers wrap.",
                                      .attributes = kCastAttributes,
                                      .pointwise = cast_elements};
extern constinit const OpDef cast_unsaturated_def{
    .name = "cast_unsaturated",
    .doc =
        "x as floats of eight bits or less, to nearest even; beyond the largest number infinity, or NaN where the type "
        "has none. (cast gives the largest number.)",
    .attributes = kCastAttributes,
    .infer = infer_unsaturated,
    .eval = eval_unsaturated,
    .no_gradient = "it makes floats of eight bits or less to store; cast has a gradient"};
extern constinit const OpDef identity_def{.name = "identity", .doc = "x", .pointwise = [](Args a) { return a[0]; }};
extern constinit const OpDef dropout_def{.name = "dropout",
                                         .doc = "x: in inference nothing is dropped.",
                                         .attributes = kDropoutAttributes,
                                         .pointwise = [](Args a) { return a[0]; }};

}  // namespace hone
