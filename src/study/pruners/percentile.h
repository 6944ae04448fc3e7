#pragma once

#include "study/pruner.h"

namespace hone {

struct PercentileOptions {
  double percentile = 25;
  int64_t startup = 5, warmup = 0, interval = 1, least = 1;
};

// A trial goes on while its best report is among the best `percentile` percent of what complete trials reported at this
// step; as Optuna's PercentilePruner.
std::unique_ptr<Pruner> percentile_pruner(const PercentileOptions& options);

// Whether the last report is the first in its interval after the warm-up: what lies in between is not looked at.
bool is_first_in_interval(const TrialRecord& trial, int64_t warmup, int64_t interval);

}  // namespace hone
