// Activation functions of float elements.
#include <numbers>

#include "ops/pointwise_args.h"

namespace hone {
namespace {

constexpr AttributeSpec kLeakyAttributes[] = {{"alpha", AttributeKind::number, false, "slope below 0; default 0.01"}};
constexpr AttributeSpec kEluAttributes[] = {
    {"alpha", AttributeKind::number, false, "-(limit for x to -inf); default 1"}};
constexpr AttributeSpec kSeluAttributes[] = {
    {"alpha", AttributeKind::number, false, "default 1.6732632"},
    {"gamma", AttributeKind::number, false, "slope above 0; default 1.0507010"},
};
constexpr AttributeSpec kThresholdAttributes[] = {{"alpha", AttributeKind::number, false, "threshold; default 1"}};
constexpr AttributeSpec kShrinkAttributes[] = {
    {"threshold", AttributeKind::number, false, "smallest |x| that is kept; default 0.5"},
    {"bias", AttributeKind::number, false, "how far x moves toward 0; default 0"},
};
constexpr AttributeSpec kSiluAttributes[] = {{"alpha", AttributeKind::number, false, "factor of x in exp; default 1"}};
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

// x, or alpha * (exp(x / scale) - 1) below 0.
Expr exponential_below_zero(const Expr& x, double alpha, double scale) {
  return select(x < 0, alpha * (exp(x / scale) - 1), x);
}

Expr elu(Args a) { return exponential_below_zero(real_operand(a, 0), a.attributes.get_or<double>("alpha", 1), 1); }

Expr celu(Args a) {
  const double alpha = a.attributes.get_or<double>("alpha", 1);
  if (alpha == 0) fail("alpha is 0; accepted: every other number");
  return exponential_below_zero(real_operand(a, 0), alpha, alpha);
}

// The defaults keep mean 0 and variance 1 from layer to layer: Klambauer et al., "Self-Normalizing Neural Networks"
// (2017), as ONNX rounds them to f32.
Expr selu(Args a) {
  const double alpha = a.attributes.get_or<double>("alpha", 1.67326319217681884765625),
               gamma = a.attributes.get_or<double>("gamma", 1.05070102214813232421875);
  return gamma * exponential_below_zero(real_operand(a, 0), alpha, 1);
}

Expr shrink(Args a) {
  const Expr& x = real_operand(a, 0);
  const double threshold = a.attributes.get_or<double>("threshold", 0.5), bias = a.attributes.get_or<double>("bias", 0);
  return select(x < -threshold, x + bias, select(x > threshold, x - bias, 0));
}

Expr softplus(const Expr& x) { return max(x, 0) + log(1 + exp(-abs(x))); }

Expr hard_sigmoid(Args a) {
  const Expr& x = real_operand(a, 0);
  return max(min(x * a.attributes.get_or<double>("alpha", 0.2) + a.attributes.get_or<double>("beta", 0.5), 1), 0);
}

}  // namespace

extern constinit const OpDef relu_def{.name = "relu",
                                      .doc = "max(x, 0); its derivative at 0 is 1/2, as that of any tie.",
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
extern constinit const OpDef silu_def{
    .name = "silu", .doc = "x / (1 + exp(-alpha * x))", .attributes = kSiluAttributes, .pointwise = [](Args a) {
      const Expr& x = real_operand(a, 0);
      return x / (1 + exp(-(x * a.attributes.get_or<double>("alpha", 1))));
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
    .pointwise = [](Args a) { return softplus(real_operand(a, 0)); }};
extern constinit const OpDef mish_def{.name = "mish", .doc = "x * tanh(softplus(x))", .pointwise = [](Args a) {
                                        return real_operand(a, 0) * tanh(softplus(a[0]));
                                      }};
extern constinit const OpDef softsign_def{.name = "softsign", .doc = "x / (1 + |x|)", .pointwise = [](Args a) {
                                            return real_operand(a, 0) / (1 + abs(a[0]));
                                          }};
extern constinit const OpDef elu_def{
    .name = "elu", .doc = "x, or alpha * (exp(x) - 1) below 0.", .attributes = kEluAttributes, .pointwise = elu};
extern constinit const OpDef celu_def{.name = "celu",
                                      .doc = "x, or alpha * (exp(x / alpha) - 1) below 0.",
                                      .attributes = kEluAttributes,
                                      .pointwise = celu};
extern constinit const OpDef selu_def{.name = "selu",
                                      .doc = "gamma * x, or gamma * alpha * (exp(x) - 1) below 0.",
                                      .attributes = kSeluAttributes,
                                      .pointwise = selu};
extern constinit const OpDef prelu_def{.name = "prelu",
                                       .doc = "x, or slope * x below 0; operands x, slope.",
                                       .operands = {"x", "slope"},
                                       .pointwise = [](Args a) {
                                         const Expr& x = number_operand(a, 0);
                                         return select(x < 0, number_operand(a, 1) * x, x);
                                       }};
extern constinit const OpDef thresholded_relu_def{.name = "thresholded_relu",
                                                  .doc = "x where it is above alpha, otherwise 0.",
                                                  .attributes = kThresholdAttributes,
                                                  .pointwise = [](Args a) {
                                                    const Expr& x = real_operand(a, 0);
                                                    return select(x > a.attributes.get_or<double>("alpha", 1), x, 0);
                                                  }};
extern constinit const OpDef shrink_def{.name = "shrink",
                                        .doc = "x - bias above threshold, x + bias below -threshold, 0 between them.",
                                        .attributes = kShrinkAttributes,
                                        .pointwise = shrink};

}  // namespace hone
