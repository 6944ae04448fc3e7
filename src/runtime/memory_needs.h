// The memory that runs take from the system, held against the limit before it is there.
#pragma once

#include "runtime/run_plan.h"
#include "runtime/shared_kernels.h"
#include "runtime/step_calls.h"

namespace hone {

// Throws MemoryError when a run, with what is laid out for it, would need more than the process may take. `own`:
// constants of this plan alone; `held` bytes of a workspace are there already.
void require_memory_for_runs(const RunPlan& plan, const StepCalls& calls, const SharedKernels& shared,
                             const WeightStore& own, int scratch_areas, int64_t held);

}  // namespace hone
