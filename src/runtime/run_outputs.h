// The memory that outputs of a run are computed in, and what callers get of them.
#pragma once

#include <vector>

#include "runtime/output_view.h"
#include "runtime/run_plan.h"
#include "runtime/run_values.h"
#include "runtime/workspace.h"

namespace hone {

// Into `memory`, which is kept until the queue is synchronised: that of outputs that are computed in memory of their
// own; empty for the others. Updates that are written over what they update get its memory, where it is `lent` (null:
// nothing is) and nobody else looks at that, or a copy of it.
void place_outputs(const RunPlan& plan, const std::map<std::string, Tensor>& inputs,
                   const std::map<std::string, Tensor>* lent, const OutputViews& given, const Workspace& workspace,
                   std::vector<RunPlan::Planes>& memory);

// What outputs are read into on a device with memory of its own: where the caller wants them, or memory of the host's.
// Kept until the queue is synchronised. Empty where they are computed in the host's memory.
std::vector<RunPlan::Planes> memory_of_callers(const RunPlan& plan, std::span<const RunPlan::Planes> memory,
                                               const OutputViews& given);

// Takes what a run has begun to write over, where it lay, out of `lent`.
void drop_overwritten(const RunPlan& plan, std::span<const RunPlan::Planes> memory,
                      std::map<std::string, Tensor>& lent);

// Updates stay on the device, what callers get is the host's; those that lie apart are empty tensors. All that was
// asked of the queue is done then.
std::vector<Tensor> results_of_run(const RunPlan& plan, std::span<const RunPlan::Planes> memory,
                                   std::span<const RunPlan::Planes> read, const RunValues& values);

}  // namespace hone
