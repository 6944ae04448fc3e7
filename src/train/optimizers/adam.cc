// Adam and AdamW as torch.optim has them: running means m of the gradient and v of its square, corrected for their
// beginning at 0, and w -= rate · m' / (sqrt(v') + epsilon). Kingma and Ba, "Adam" (2015); Loshchilov and Hutter,
// "Decoupled weight decay regularization" (2019), which is AdamW.
#include "ops/calls/arithmetic.h"
#include "ops/calls/cast.h"
#include "ops/calls/optimizer_steps.h"
#include "ops/calls/transcendental.h"
#include "train/optimizers/optimizer.h"

namespace hone {
namespace {

struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  static constexpr const char* kPass = "adam";
  static std::span<const OptionField<AdamOptions>> fields();
};

constexpr OptionField<AdamOptions> kFields[] = {
    {"beta1", "share of the running mean of gradients that stays", &AdamOptions::beta1},
    {"beta2", "share of the running mean of their squares that stays", &AdamOptions::beta2},
    {"epsilon", "added to the root of that mean", &AdamOptions::epsilon},
};

// 1 - beta^step, f64: what the weights of a running mean that began at 0 sum to. In f32 that of 0.999 would be known to
// five digits in the first step.
ValueId correction(GroupStep& group, double beta) {
  Graph& graph = group.graph();
  const ValueId step = ops::cast(graph, {.x = group.step, .dtype = DType::f64});
  const ValueId power = ops::pow(graph, {.a = graph.add_scalar(beta), .b = step});
  return ops::sub(graph, {.a = graph.add_scalar(1.0), .b = power});
}

ValueId as_f32(Graph& graph, ValueId x) { return ops::cast(graph, {.x = x, .dtype = DType::f32}); }

void step(GroupStep& group, const AdamOptions& o, bool decoupled) {
  for (double beta : {o.beta1, o.beta2})
    if (!(beta >= 0 && beta < 1)) fail("option beta of adam is {}; accepted: 0 to below 1", beta);
  if (!(o.epsilon >= 0)) fail("option epsilon of adam is {}; accepted: 0 and above", o.epsilon);
  Graph& graph = group.graph();
  const ValueId rate = ops::div(graph, {.a = group.rate, .b = as_f32(graph, correction(group, o.beta1))});
  const ValueId scale = ops::rsqrt(graph, {as_f32(graph, correction(group, o.beta2))});
  const ValueId keep = decoupled ? group.keep() : group.number(1);
  for (const Trained& p : group.parameters) {
    const ValueId g = decoupled ? p.gradient : group.decayed_gradient(p);
    const ValueId m = group.state(p, "mean"), v = group.state(p, "square");
    const ValueId m2 = ops::weighted_sum(graph, {.a = m, .b = g, .alpha = o.beta1, .beta = 1 - o.beta1});
    const ValueId square = ops::mul(graph, {.a = g, .b = g});
    const ValueId v2 = ops::weighted_sum(graph, {.a = v, .b = square, .alpha = o.beta2, .beta = 1 - o.beta2});
    group.update(p, m, m2);
    group.update(p, v, v2);
    group.update(
        p, p.w,
        ops::adam_step(graph,
                       {.w = p.w, .m = m2, .v = v2, .rate = rate, .scale = scale, .keep = keep, .epsilon = o.epsilon}));
  }
}

}  // namespace

std::span<const OptionField<AdamOptions>> AdamOptions::fields() { return kFields; }

extern constinit const OptimizerDef adam_def{
    .name = "adam",
    .doc = "running means of gradients and of their squares; decay joins the gradient",
    .rate = 1e-3,
    .decay = 0,
    .options = &option_table<AdamOptions>,
    .step = [](GroupStep& group, const std::any& options) {
      step(group, std::any_cast<const AdamOptions&>(options), false);
    }};
extern constinit const OptimizerDef adamw_def{.name = "adamw",
                                              .doc = "Adam with decoupled decay",
                                              .rate = 1e-3,
                                              .decay = 0.01,
                                              .options = &option_table<AdamOptions>,
                                              .step = [](GroupStep& group, const std::any& options) {
                                                step(group, std::any_cast<const AdamOptions&>(options), true);
                                              }};

}  // namespace hone
