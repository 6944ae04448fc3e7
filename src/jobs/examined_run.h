// What a run would do: what has no code on the device, how much memory it needs and how long it takes. Nothing is
// compiled or run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/peaks.h"
#include "jobs/findings.h"
#include "jobs/predicted_memory.h"
#include "jobs/predicted_speed.h"

namespace hone {

// Steps that the device should have run and does not, of one op and for one reason.
struct StepsElsewhere {
  std::string ops, why;
  int64_t nodes = 0, copied_bytes = 0;  // copied: there and back
  double flop_share = 0;                // of the model's
};

struct ExaminedRun {
  std::vector<StepsElsewhere> interpreted, on_host;
  std::optional<PredictedMemory> memory;
  std::optional<PredictedSpeed> speed;
};

struct ExamineRunOptions {
  std::shared_ptr<Device> device;     // null: the CPU with all that it has
  bool no_fallback = false;           // what has no kernel of the device is a problem
  std::optional<MachinePeaks> peaks;  // what this machine reaches; none: no time is predicted
};

// Of a graph in canonical form, at these sizes. Throws Error where they do not fit.
ExaminedRun examine_run(const Graph& graph, const Bindings& sizes, const ExamineRunOptions& options,
                        Findings& findings);

}  // namespace hone
