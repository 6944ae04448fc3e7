// The memory that runs take from the system and from their device, held against the limit before it is there.
#pragma once

#include "runtime/host_steps.h"
#include "runtime/run_plan.h"
#include "runtime/shared_kernels.h"
#include "runtime/step_calls.h"

namespace hone {

// Throws MemoryError when a run, with what is laid out for it, would need more than the process may take, or than is
// free of a device's own memory: then it says what would fit. `own`:
// constants of this plan alone; `held` bytes of a workspace are there already.
void require_memory_for_runs(const RunPlan& plan, const StepCalls& calls, const SharedKernels& shared,
                             const OwnWeights& own, const HostSteps& host_steps, int scratch_areas, int64_t held);

}  // namespace hone
