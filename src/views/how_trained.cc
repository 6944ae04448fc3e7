#include "views/how_trained.h"

#include <fmt/format.h>

#include "report/number_text.h"

namespace hone {

NumberStyle style_of(const Metric& metric) {
  return metric.def->is_share ? NumberStyle{NumberFormat::percent, 2} : NumberStyle{NumberFormat::significant, 4};
}

Cell metric_cell(const Validation& validation) {
  if (validation.estimate && validation.estimate->ci95) return number(validation.metric, *validation.estimate->ci95);
  return number(validation.metric);
}

std::string how_trained(const TrainingOutcome& outcome, int64_t rows, const std::string& data) {
  std::string text =
      fmt::format("trained on {} rows of {} for {} steps in {:.1f} s", rows, data, outcome.steps, outcome.seconds);
  if (outcome.best)
    text += fmt::format("; {} {} on {} validation samples, with the weights of step {}", outcome.metric.title(),
                        cell_text(metric_cell(*outcome.best), style_of(outcome.metric)),
                        outcome.best->estimate ? outcome.best->estimate->samples : 0, outcome.best->step);
  return text;
}

}  // namespace hone
