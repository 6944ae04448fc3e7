// What the steps of a run are, for profiles.
#pragma once

#include <vector>

#include "runtime/profile.h"
#include "runtime/run_plan.h"

namespace hone {

std::vector<StepProfile> step_profiles(const RunPlan& plan);

}  // namespace hone
