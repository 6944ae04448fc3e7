// The record of jobs/prune_model.h.
#pragma once

#include <optional>
#include <string>

#include "jobs/bench.h"
#include "jobs/prune_model.h"
#include "report/record.h"

namespace hone {

// `saved`: what save_pruned() made of it at `output`; `original`: what was pruned. Findings; "pruned"; "results" where
// the original and the written file were measured beside each other.
Record view_of(const PrunedModel& pruned, const Model& original, const std::string& output, const SavedModel& saved,
               const std::optional<BenchResult>& measured = {});

}  // namespace hone
