// Lion: a step along the sign of a mean of gradients, with decoupled decay. Chen et al., "Symbolic discovery of
// optimization algorithms" (2023), whose defaults these are.
#include "ops/calls/optimizer_steps.h"
#include "train/optimizers/optimizer.h"

namespace hone {
namespace {

struct LionOptions {
  double beta1 = 0.9, beta2 = 0.99;
  static constexpr const char* kPass = "lion";
  static std::span<const OptionField<LionOptions>> fields();
};

constexpr OptionField<LionOptions> kFields[] = {
    {"beta1", "share of the running mean in what gives the sign", &LionOptions::beta1},
    {"beta2", "share of the running mean that stays", &LionOptions::beta2},
};

void step(GroupStep& group, const LionOptions& o) {
  for (double beta : {o.beta1, o.beta2})
    if (!(beta >= 0 && beta < 1)) fail("option beta of lion is {}; accepted: 0 to below 1", beta);
  Graph& graph = group.graph();
  const ValueId keep = group.keep();
  for (const Trained& p : group.parameters) {
    const ValueId m = group.state(p, "mean");
    const ValueId next =
        ops::lion_step(graph, {.w = p.w, .m = m, .g = p.gradient, .rate = group.rate, .keep = keep, .beta = o.beta1});
    group.update(p, m, ops::weighted_sum(graph, {.a = m, .b = p.gradient, .alpha = o.beta2, .beta = 1 - o.beta2}));
    group.update(p, p.w, next);
  }
}

}  // namespace

std::span<const OptionField<LionOptions>> LionOptions::fields() { return kFields; }

extern constinit const OptimizerDef lion_def{
    .name = "lion",
    .doc = "the sign of a running mean of gradients, with decoupled decay; rates are 3 to 10 times smaller than Adam's",
    .rate = 1e-4,
    .decay = 0,
    .options = &option_table<LionOptions>,
    .step = [](GroupStep& group, const std::any& options) { step(group, std::any_cast<const LionOptions&>(options)); }};

}  // namespace hone
