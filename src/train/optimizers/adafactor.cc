// Adafactor as torch.optim.Adafactor has it: the running mean of squared gradients of a matrix is kept as the means of
// its rows and columns, steps are relative to the size of the parameter, and the root mean square of a step is limited.
// Shazeer and Stern, "Adafactor: adaptive learning rates with sublinear memory cost" (2018).
#include <cmath>
#include <limits>

#include "ops/calls/arithmetic.h"
#include "ops/calls/optimizer_steps.h"
#include "ops/calls/reduce.h"
#include "ops/calls/transcendental.h"
#include "train/optimizers/optimizer.h"

namespace hone {
namespace {

struct AdafactorOptions {
  double beta2_decay = -0.8, epsilon = std::numeric_limits<float>::epsilon(), smallest = 1e-3, limit = 1;
  static constexpr const char* kPass = "adafactor";
  static std::span<const OptionField<AdafactorOptions>> fields();
};

constexpr OptionField<AdafactorOptions> kFields[] = {
    {"beta2-decay", "step to this power is the share of new squares in the running means",
     &AdafactorOptions::beta2_decay},
    {"epsilon", "least mean square of gradients, as a root", &AdafactorOptions::epsilon},
    {"smallest", "least root mean square of a parameter that steps are relative to", &AdafactorOptions::smallest},
    {"limit", "largest root mean square of a step before the rate", &AdafactorOptions::limit},
};

class Adafactor {
 public:
  Adafactor(GroupStep& group, const AdafactorOptions& options) : group_(group), graph_(group.graph()), o_(options) {
    for (double positive : {o_.epsilon, o_.smallest, o_.limit})
      if (!(positive > 0)) fail("an option of adafactor is {}; epsilon, smallest and limit are above 0", positive);
    if (!(o_.beta2_decay <= 0)) fail("option beta2-decay of adafactor is {}; accepted: 0 and below", o_.beta2_decay);
    share_ = ops::pow(graph_, {.a = group.step, .b = group.number(o_.beta2_decay)});
    stays_ = ops::sub(graph_, {.a = group.number(1), .b = share_});
    rate_ = ops::min(graph_, {.a = group.rate, .b = ops::rsqrt(graph_, {group.step})});
    keep_ = group.keep();
  }

  void step(const Trained& p) {
    const ValueId square = ops::mul(graph_, {.a = p.gradient, .b = p.gradient});
    const ValueId mean = graph_.type(p.w).rank() > 1 ? factored(p, square) : running(p, "square", square);
    const ValueId least = group_.number(o_.epsilon * o_.epsilon);
    const ValueId scale = ops::rsqrt(graph_, {ops::max(graph_, {.a = mean, .b = least})});
    const ValueId direction = ops::mul(graph_, {.a = scale, .b = p.gradient});
    const ValueId size = ops::max(graph_, {.a = root_mean_square(p.w), .b = group_.number(o_.smallest)});
    const ValueId over = ops::div(graph_, {.a = root_mean_square(direction), .b = group_.number(o_.limit)});
    const ValueId limited = ops::div(graph_, {.a = ops::mul(graph_, {.a = rate_, .b = size}),
                                              .b = ops::max(graph_, {.a = over, .b = group_.number(1)})});
    group_.update(p, p.w, ops::descent_step(graph_, {.w = p.w, .d = direction, .rate = limited, .keep = keep_}));
  }

 private:
  // The running mean of `value`, which it takes up in this step.
  ValueId running(const Trained& p, const char* name, ValueId value) {
    const ValueId old = group_.state(p, name, graph_.type(value).shape);
    const ValueId next = ops::add(
        graph_, {.a = ops::mul(graph_, {.a = old, .b = stays_}), .b = ops::mul(graph_, {.a = value, .b = share_})});
    group_.update(p, old, next);
    return next;
  }

  // Rows' means times columns' means, over the mean of all.
  ValueId factored(const Trained& p, ValueId square) {
    const ValueId rows = running(p, "rows", mean_over(square, -1)),
                  columns = running(p, "columns", mean_over(square, -2));
    const ValueId all = ops::max(graph_, {.a = mean_over(rows, -2), .b = group_.number(o_.epsilon)});
    return ops::mul(graph_, {.a = ops::div(graph_, {.a = rows, .b = all}), .b = columns});
  }

  ValueId mean_over(ValueId x, int64_t axis) {
    return ops::reduce_mean(graph_, {.x = x, .axes = std::vector<int64_t>{axis}, .keepdims = 1});
  }

  ValueId root_mean_square(ValueId x) {
    return ops::sqrt(graph_, {ops::reduce_mean(graph_, {.x = ops::mul(graph_, {.a = x, .b = x}), .keepdims = 0})});
  }

  GroupStep& group_;
  Graph& graph_;
  const AdafactorOptions o_;
  ValueId share_, stays_, rate_, keep_;
};

}  // namespace

std::span<const OptionField<AdafactorOptions>> AdafactorOptions::fields() { return kFields; }

extern constinit const OptimizerDef adafactor_def{
    .name = "adafactor",
    .doc = "steps relative to the size of parameters; keeps rows and columns of a matrix instead of all its elements",
    .rate = 1e-2,
    .decay = 0,
    .options = &option_table<AdafactorOptions>,
    .step = [](GroupStep& group, const std::any& options) {
      Adafactor adafactor(group, std::any_cast<const AdafactorOptions&>(options));
      for (const Trained& p : group.parameters) adafactor.step(p);
    }};

}  // namespace hone
