// Activations that only recurrent layers (rnn, gru, lstm) are given.
#include "ops/pointwise_args.h"

namespace hone {
namespace {

constexpr AttributeSpec kAffineAttributes[] = {
    {"alpha", AttributeKind::number, false, "slope; default 1"},
    {"beta", AttributeKind::number, false, "value at 0; default 0"},
};
constexpr AttributeSpec kScaledTanhAttributes[] = {
    {"alpha", AttributeKind::number, false, "factor of the result; default 1"},
    {"beta", AttributeKind::number, false, "factor of x; default 1"},
};

Expr affine(Args a) {
  return real_operand(a, 0) * a.attributes.get_or<double>("alpha", 1) + a.attributes.get_or<double>("beta", 0);
}

Expr scaled_tanh(Args a) {
  return a.attributes.get_or<double>("alpha", 1) * tanh(real_operand(a, 0) * a.attributes.get_or<double>("beta", 1));
}

}  // namespace

extern constinit const OpDef affine_def{
    .name = "affine", .doc = "alpha * x + beta", .attributes = kAffineAttributes, .pointwise = affine};
extern constinit const OpDef scaled_tanh_def{.name = "scaled_tanh",
                                             .doc = "alpha * tanh(beta * x)",
                                             .attributes = kScaledTanhAttributes,
                                             .pointwise = scaled_tanh};

}  // namespace hone
