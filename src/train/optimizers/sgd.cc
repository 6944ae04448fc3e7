// Stochastic gradient descent as torch.optim.SGD has it: m = momentum · m + g and w -= rate · m, where Nesterov's form
// takes g + momentum · m. Sutskever et al., "On the importance of initialization and momentum in deep learning" (2013).
#include "ops/calls/optimizer_steps.h"
#include "train/optimizers/optimizer.h"

namespace hone {
namespace {

struct SgdOptions {
  double momentum = 0;
  bool nesterov = false, decoupled = false;
  static constexpr const char* kPass = "sgd";
  static std::span<const OptionField<SgdOptions>> fields();
};

constexpr OptionField<SgdOptions> kFields[] = {
    {"momentum", "share of the last step's direction that stays", &SgdOptions::momentum},
    {"nesterov", "look ahead along the momentum", &SgdOptions::nesterov},
    {"decoupled", "decay the weights by themselves, instead of through the gradient", &SgdOptions::decoupled},
};

void step(GroupStep& group, const SgdOptions& options) {
  if (options.momentum < 0 || options.momentum >= 1)
    fail("option momentum of sgd is {}; accepted: 0 to below 1", options.momentum);
  if (options.nesterov && options.momentum == 0) fail("option nesterov of sgd needs a momentum above 0");
  Graph& graph = group.graph();
  const ValueId keep = options.decoupled ? group.keep() : group.number(1);
  for (const Trained& p : group.parameters) {
    const ValueId g = options.decoupled ? p.gradient : group.decayed_gradient(p);
    ValueId direction = g;
    if (options.momentum > 0) {
      const ValueId m = group.state(p, "momentum");
      const ValueId next = ops::weighted_sum(graph, {.a = m, .b = g, .alpha = options.momentum, .beta = 1.0});
      group.update(p, m, next);
      direction = options.nesterov
                      ? ops::weighted_sum(graph, {.a = next, .b = g, .alpha = options.momentum, .beta = 1.0})
                      : next;
    }
    group.update(p, p.w, ops::descent_step(graph, {.w = p.w, .d = direction, .rate = group.rate, .keep = keep}));
  }
}

}  // namespace

std::span<const OptionField<SgdOptions>> SgdOptions::fields() { return kFields; }

extern constinit const OptimizerDef sgd_def{
    .name = "sgd",
    .doc = "stochastic gradient descent, with momentum or Nesterov's",
    .rate = 1e-3,
    .decay = 0,
    .options = &option_table<SgdOptions>,
    .step = [](GroupStep& group, const std::any& options) { step(group, std::any_cast<const SgdOptions&>(options)); }};

}  // namespace hone
