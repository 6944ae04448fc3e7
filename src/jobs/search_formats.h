// The search of hone allocate: candidates are made, their sensitivities measured, and a choice solved for and refined.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "allocate/allocate.h"
#include "allocate/sensitivity.h"
#include "jobs/allocate_formats.h"
#include "jobs/format_costs.h"
#include "jobs/format_study.h"
#include "jobs/plan_speed.h"

namespace hone {

struct FoundFormats {
  FormatStudy& study;
  Candidates candidates = {};
  std::vector<TensorSensitivity> sensitivities = {};  // of candidates.tensors
  std::optional<FormatTimes> times = {};              // where the budget is one of time
  double fixed_cost = 0;      // of all but the candidates: bytes, or milliseconds where the budget is one of time
  QuantizeOptions plan = {};  // what was chosen, with what was given
  int64_t file_bytes = 0;     // of its file
  std::optional<PlanSpeed> speed = {};  // of it, where the budget is one of time
  Allocation allocation = {};
  std::vector<Trial> front = {};            // solutions for other budgets, when asked for
  std::vector<double> choice_seconds = {};  // of whole choices that were measured
  double seconds = 0;                       // of the search

  const Trial& chosen() const { return allocation.trials[allocation.best]; }
  // Measured when it is not remembered, on what selects and on what is held out.
  OutputDistance distance(std::span<const int> choice);
  OutputDistance judged(std::span<const int> choice);
};

// Throws Error when the options contradict each other or no choice meets the budget.
FoundFormats search_formats(const AllocateFormatsOptions& options, FormatStudy& study, const TaskContext& context);

}  // namespace hone
