// What a run would do: what has no code on the device, how much memory it needs and how long it takes. Nothing is
// compiled or run.
#pragma once

#include <optional>
#include <vector>

#include "jobs/doctor.h"
#include "jobs/findings.h"
#include "jobs/predicted_memory.h"
#include "jobs/predicted_speed.h"

namespace hone {

struct ExaminedRun {
  std::vector<Table> tables;  // "interpreted" and "on_host", where something is
  std::optional<PredictedMemory> memory;
  std::optional<PredictedSpeed> speed;
};

// Of a graph in canonical form, at these sizes. Throws Error where they do not fit.
ExaminedRun examine_run(const Graph& graph, const Bindings& sizes, const DoctorOptions& options, Findings& findings);

}  // namespace hone
