#include "kernels/conv/weight_steps.h"

#include "base/error.h"

namespace hone {

WeightSteps weight_steps(const ConvPlan& plan, std::span<const int64_t> shape) {
  const int64_t taps = plan.window.taps(), n = plan.product.n, channels = plan.channels;
  WeightSteps steps{.channels = channels / plan.planes};
  if (plan.turned) {
    CHECK(shape.size() > 2 || taps == 1);  // what a view of one tap's [O,C,1,1] is a view of
    steps.first = taps - 1, steps.output = taps, steps.tap = -1, steps.plane = n * taps;
  } else if (shape.size() == 2) {
    steps.output = taps * channels, steps.tap = channels, steps.plane = 1;
  } else {
    steps.output = taps * channels, steps.tap = 1, steps.plane = taps;
  }
  steps.channel = plan.planes * steps.plane;  // a channel has its planes together
  return steps;
}

bool are_rows(const ConvPlan& plan, const WeightSteps& steps) {
  const int64_t taps = plan.window.taps(), channels = plan.channels;
  return !plan.turned && plan.planes == 1 && (channels == 1 || steps.channel == 1) &&
         (taps == 1 || steps.tap == channels);
}

}  // namespace hone
