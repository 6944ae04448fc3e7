// An example of an optimizer: a step of the same length for every element, whatever its gradient. Bernstein et al.,
// "signSGD" (2018).
#include "ops/calls/arithmetic.h"
#include "ops/calls/optimizer_steps.h"
#include "train/optimizers/optimizer.h"

namespace hone {
namespace {

struct SignDescentOptions {
  static constexpr const char* kPass = "sign_descent";
  static std::span<const OptionField<SignDescentOptions>> fields() { return {}; }
};

}  // namespace

extern constinit const OptimizerDef sign_descent_def{
    .name = "sign_descent",
    .doc = "a step along the sign of the gradient, with decoupled decay",
    .rate = 1e-3,
    .decay = 0,
    .options = &option_table<SignDescentOptions>,
    .step = [](GroupStep& group, const std::any&) {
      const ValueId keep = group.keep();
      for (const Trained& p : group.parameters)
        group.update(p, p.w,
                     ops::descent_step(
                         group.graph(),
                         {.w = p.w, .d = ops::sign(group.graph(), {p.gradient}), .rate = group.rate, .keep = keep}));
    }};

}  // namespace hone
