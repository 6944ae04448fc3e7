#include "views/op_forms.h"

#include <algorithm>

#include "measure/bound.h"

namespace hone {
namespace {

constexpr NumberStyle kThree{NumberFormat::significant, 3}, kFour{NumberFormat::significant, 4},
    kPercent{NumberFormat::percent, 1}, kBytes{NumberFormat::bytes, 3};

}  // namespace

Table steps_table(const std::vector<const OpTimes*>& forms, int threads, const MachinePeaks& peaks, int64_t repeats) {
  Table table{.key = "steps",
              .title = "Where the time goes",
              .columns = {{"form", "form"},
                          {"ops", "ops"},
                          {"ms", "time", "ms", kThree},
                          {"share", "share", "", kPercent},
                          {"mflop", "MFLOP", "", kFour},
                          {"bytes", "moved", "", kBytes},
                          {.key = "why", .title = "why not faster", .prose = true}}};
  const StepSetting setting{.threads = threads};
  const auto parts = static_cast<double>(repeats);
  for (const OpTimes* form : forms)
    for (size_t s = 0; s < form->times.steps().size() / static_cast<size_t>(repeats); ++s) {
      const StepProfile& step = form->times.steps()[s];
      const double ms = std::max(form->times.step_ms[s], 1e-6);
      table.rows.push_back({form->name, step.ops, number(ms), number(ms * parts / form->times.typical_ms()),
                            number(step.flops * 1e-6), number(step.bytes),
                            why_not_faster(step, ms, bound_of(step, ms, peaks, setting))});
    }
  return table;
}

}  // namespace hone
