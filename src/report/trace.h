// Runs as a trace that chrome://tracing and ui.perfetto.dev open: a process per model, a slice per step and run, and
// the rate of each step as counters.
#pragma once

#include <span>
#include <string>

#include "runtime/profile.h"

namespace hone {

struct TracedModel {
  std::string name;
  std::span<const RunProfile> runs;
};

// Chrome's trace event format, as JSON. Times are in microseconds since the first run of all.
std::string trace_text(std::span<const TracedModel> models);

}  // namespace hone
