// Activation functions of float elements.
#include <numbers>

#include "ops/pointwise_args.h"

namespace hone {
namespace {

constexpr AttributeSpec kLeakyAttributes[] = {{"alpha", AttributeKind::number, false, "slope below 0; default 0.01"}};
constexpr AttributeSpec kGeluAttributes[] = {
    {"approximate", AttributeKind::string, false, "none (default): by erf; tanh: by tanh"},
};
constexpr AttributeSpec kHardSigmoidAttributes[] = {
    {"alpha", AttributeKind::number, false, "slope; default 0.2"},
    {"beta", AttributeKind::number, false, "value at 0; default 0.5"},
};

Expr gelu(Args a) {
  const Expr& x = real_operand(a, 0);
  const std::string how = a.attributes.get_or<std::string>("approximate", "none");
  if (how == "none") return 0.5 * x * (1 + erf(x * (1 / std::numbers::sqrt2)));
  if (how != "tanh") fail("approximate is \"{}\"; accepted: none, tanh", how);
  const double sqrt_2_over_pi = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  return 0.5 * x * (1 + tanh(sqrt_2_over_pi * (x + 0.044715 * x * x * x)));
}

Expr leaky_relu(Args a) {
  const Expr& x = real_operand(a, 0);
  return select(x < 0, x * a.attributes.get_or<double>("alpha", 0.01), x);
}

Expr hard_sigmoid(Args a) {
  const Expr& x = real_operand(a, 0);
  return max(min(x * a.attributes.get_or<double>("alpha", 0.2) + a.attributes.get_or<double>("beta", 0.5), 1), 0);
}

}  // namespace

extern constinit const OpDef relu_def{.name = "relu",
                                      .doc = "max(x, 0); the gradient at 0 is 0.",
                                      .pointwise = [](Args a) { return max(number_operand(a, 0), 0); }};
extern constinit const OpDef leaky_relu_def{
    .name = "leaky_relu", .doc = "x, or alpha * x below 0.", .attributes = kLeakyAttributes, .pointwise = leaky_relu};
extern constinit const OpDef gelu_def{.name = "gelu",
                                      .doc =
                                          "x * P(N(0,1) <= x) = x/2 * (1 + erf(x / sqrt 2)); approximate=tanh: x/2 * "
                                          "(1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))).",
                                      .attributes = kGeluAttributes,
                                      .pointwise = gelu};
extern constinit const OpDef sigmoid_def{.name = "sigmoid", .doc = "1 / (1 + exp(-x))", .pointwise = [](Args a) {
                                           return 1 / (1 + exp(-real_operand(a, 0)));
                                         }};
extern constinit const OpDef silu_def{.name = "silu", .doc = "x / (1 + exp(-x))", .pointwise = [](Args a) {
                                        return real_operand(a, 0) / (1 + exp(-a[0]));
                                      }};
extern constinit const OpDef hard_sigmoid_def{.name = "hard_sigmoid",
                                              .doc = "alpha * x + beta, clamped to [0, 1]",
                                              .attributes = kHardSigmoidAttributes,
                                              .pointwise = hard_sigmoid};
extern constinit const OpDef hard_swish_def{
    .name = "hard_swish", .doc = "x * clamp(x/6 + 1/2, 0, 1)", .pointwise = [](Args a) {
      const Expr& x = real_operand(a, 0);
      return x * max(min(x * (1.0 / 6) + 0.5, 1), 0);
    }};
extern constinit const OpDef softplus_def{
    .name = "softplus",
    .doc = "log(1 + exp(x)), as max(x, 0) + log(1 + exp(-|x|)): finite for every finite x.",
    .pointwise = [](Args a) {
      const Expr& x = real_operand(a, 0);
      return max(x, 0) + log(1 + exp(-abs(x)));
    }};

}  // namespace hone
