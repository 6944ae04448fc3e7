#include "train/optimizers/optimizer.h"

#include <fmt/format.h>

#include "ops/calls/arithmetic.h"
#include "ops/calls/comparison.h"
#include "ops/calls/optimizer_steps.h"
#include "ops/rules.h"

namespace hone {

std::string state_label(std::string_view parameter, std::string_view name) {
  return fmt::format("{}/{}", parameter, name);
}

ValueId GroupStep::state(const Trained& parameter, const char* name, Shape shape) {
  return graph_.add_state(state_label(graph_.value(parameter.w).label, name), plain_type(DType::f32, std::move(shape)));
}

void GroupStep::update(const Trained& parameter, ValueId target, ValueId value) {
  const bool by_rows = parameter.moved != kNone && graph_.type(target).shape == graph_.type(parameter.w).shape;
  if (by_rows) value = ops::where(graph_, {.condition = parameter.moved, .a = value, .b = target});
  graph_.add_update(target, value);
}

ValueId GroupStep::keep() {
  if (decay == 0) return number(1);
  return ops::sub(graph_, {.a = number(1), .b = ops::mul(graph_, {.a = rate, .b = number(decay)})});
}

ValueId GroupStep::decayed_gradient(const Trained& parameter) {
  if (decay == 0) return parameter.gradient;
  return ops::weighted_sum(graph_, {.a = parameter.gradient, .b = parameter.w, .alpha = 1.0, .beta = decay});
}

}  // namespace hone
