#pragma once

#include <optional>

#include "study/pruner.h"

namespace hone {

struct HalvingOptions {
  int64_t min_resource = 0;  // 0: a hundredth of what the first complete trial took
  int64_t reduction = 4, early_stopping_rate = 0, bootstrap = 0;
};

// Asynchronous successive halving (ASHA) as Optuna's SuccessiveHalvingPruner: a trial goes on beyond each rung, at
// steps min_resource * reduction^(rate + rung), if it is in the best 1/reduction of what came there. Li et al., "A
// system for massively parallel hyperparameter tuning" (2020).
bool halve(const PruneContext& context, const HalvingOptions& options);

// The last step of the complete trial of the lowest number that reported: the same for all workers and after a stop.
std::optional<int64_t> steps_of_first_complete(const StudyView& study);

}  // namespace hone
