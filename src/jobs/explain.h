// hone explain: what would be run for a model, and why so. Nothing is compiled or run.
#pragma once

#include "jobs/default_inputs.h"
#include "jobs/load_model.h"
#include "report/record.h"

namespace hone {

struct ExplainOptions {
  ShapeOptions shapes;
  std::shared_ptr<Device> device;                              // null: the CPU with all that it has
  std::optional<Compute> compute;                              // none: as stored in the model
  bool fuse = true, no_winograd = false, no_fallback = false;  // see LowerOptions
  PipelineOptions pipeline;
};

// Fusion groups with their kernels, what was refused and what stayed outside a group with the reasons, layout changes,
// shared kernels, and the memory plan.
Record explain(const LoadedModel& model, const ExplainOptions& options);

}  // namespace hone
