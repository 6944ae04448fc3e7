// A plan beside the original, as files: each under its own compute type, set up anew in turn, as hone bench times them.
#pragma once

#include <string>

#include "jobs/budget.h"
#include "jobs/candidate.h"
#include "measure/ratio.h"

namespace hone {

struct PlanSpeed {
  double original_ms = 0, plan_ms = 0;      // medians
  Interval original_ms_ci95, plan_ms_ci95;  // of the medians of the placements
  double share = 1;                         // the plan's time / the original's
  Interval share_ci95;
  int rounds = 0;
  std::string shape;  // "input_ids: i64[1,128]"
  Compute original_compute = Compute::f32, plan_compute = Compute::f32;

  // Whether the whole interval is within the budget, which is one of time.
  bool meets(const Budget& budget) const;
  std::string text(const Budget& budget) const;  // "takes 0.62 (0.60-0.63) of the original's time"
};

// `seconds`: longest measured part. Throws Error when the plan's file takes other inputs than the original.
PlanSpeed measure_plan(const Model& original, const std::string& plan_file, CandidateOptions open, double seconds);

}  // namespace hone
