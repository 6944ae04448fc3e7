// cast_to_powers: numbers as powers of two, the element type of scales in the OCP's microscaling formats.
#include <algorithm>

#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"round", AttributeKind::string, false, "up (default), down or nearest, which takes the larger of two as near"},
    {"saturate", AttributeKind::integer, false, "0: zero and what lies beyond the type give NaN; default 1"},
};

PowerRounding rounding_of(const Attributes& attributes) {
  const std::string round = attributes.get_or<std::string>("round", "up");
  if (round == "up") return PowerRounding::up;
  if (round == "down") return PowerRounding::down;
  if (round == "nearest") return PowerRounding::nearest;
  fail("round is \"{}\"; accepted: up, down, nearest", round);
}

std::vector<TensorType> infer_cast(const InferArgs& a) {
  expect_not_string(a[0], "x");
  rounding_of(a.attributes);
  return {plain_type(DType::f8e8m0, a[0].shape)};
}

std::vector<Tensor> eval_cast(const EvalArgs& a) {
  const PowerRounding rounding = rounding_of(a.attributes);
  const bool saturate = a.attributes.get_or<int64_t>("saturate", 1) != 0;
  const std::vector<float> x = a[0].to_floats();
  Tensor result(DType::f8e8m0, a[0].shape());
  std::ranges::transform(x, result.mutable_as<uint8_t>().begin(),
                         [&](float value) { return encode_power_of_two(value, rounding, saturate); });
  return {result};
}

}  // namespace

extern constinit const OpDef cast_to_powers_def{
    .name = "cast_to_powers",
    .doc =
        "x, as f32, in f8e8m0: a power of two from 2^-127 to 2^127. Zero and what lies beyond is the nearer end, or "
        "NaN; negative numbers are NaN. (cast rounds to nearest and saturates.)",
    .attributes = kAttributes,
    .infer = infer_cast,
    .eval = eval_cast,
    .no_gradient = "it makes floats of eight bits or less to store; cast has a gradient"};

}  // namespace hone
