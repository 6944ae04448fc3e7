// What optimizers do to each element of a parameter (train/optimizers/optimizer.h). Numbers that are the same for all
// elements and change from step to step are operands: they are computed once, as scalars.
#include "ops/pointwise_args.h"

namespace hone {
namespace {

constexpr AttributeSpec kSumAttributes[] = {
    {"alpha", AttributeKind::number, false, "factor of a; default 0.9"},
    {"beta", AttributeKind::number, false, "factor of b; default 0.1"},
};
constexpr AttributeSpec kAdamAttributes[] = {
    {"epsilon", AttributeKind::number, false, "added to the root; default 1e-8"},
};
constexpr AttributeSpec kLionAttributes[] = {
    {"beta", AttributeKind::number, false, "share of m in what gives the sign; default 0.9"},
};

Expr weighted_sum(Args a) {
  return real_operand(a, 0) * a.attributes.get_or<double>("alpha", 0.9) +
         real_operand(a, 1) * a.attributes.get_or<double>("beta", 0.1);
}

Expr descent_step(Args a) { return real_operand(a, 0) * a[3] - a[1] * a[2]; }

Expr adam_step(Args a) {
  const Expr &w = real_operand(a, 0), &m = a[1], &v = a[2], &rate = a[3], &scale = a[4], &keep = a[5];
  return w * keep - rate * m / (sqrt(v) * scale + a.attributes.get_or<double>("epsilon", 1e-8));
}

Expr lion_step(Args a) {
  const Expr &w = real_operand(a, 0), &m = a[1], &g = a[2], &rate = a[3], &keep = a[4];
  const double beta = a.attributes.get_or<double>("beta", 0.9);
  const Expr mean = m * beta + g * (1 - beta);
  return w * keep - select(mean > 0, rate, select(mean < 0, -rate, mean * 0));
}

}  // namespace

extern constinit const OpDef weighted_sum_def{.name = "weighted_sum",
                                              .doc = "alpha * a + beta * b: a running mean a takes up b.",
                                              .operands = {"a", "b"},
                                              .attributes = kSumAttributes,
                                              .pointwise = weighted_sum};
extern constinit const OpDef descent_step_def{.name = "descent_step",
                                              .doc = "keep * w - rate * d: a step of gradient descent along d.",
                                              .operands = {"w", "d", "rate", "keep"},
                                              .pointwise = descent_step};
extern constinit const OpDef adam_step_def{
    .name = "adam_step",
    .doc =
        "keep * w - rate * m / (sqrt(v) * scale + epsilon), with running means m of the gradient and v of its square.",
    .operands = {"w", "m", "v", "rate", "scale", "keep"},
    .attributes = kAdamAttributes,
    .pointwise = adam_step};
extern constinit const OpDef lion_step_def{
    .name = "lion_step",
    .doc =
        "keep * w - rate * sign(beta * m + (1 - beta) * g): Chen et al., \"Symbolic discovery of optimization "
        "algorithms\" (2023).",
    .operands = {"w", "m", "g", "rate", "keep"},
    .attributes = kLionAttributes,
    .pointwise = lion_step};

}  // namespace hone
