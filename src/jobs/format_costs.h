// What each tensor costs in time in each format, from profiles of models that are in one format as a whole.
#pragma once

#include <vector>

#include "allocate/candidates.h"
#include "runtime/session.h"

namespace hone {

struct FormatTimes {
  double original_ms = 0;                      // of the whole model as it is, under its own compute type
  double rest_ms = 0;                          // of what reads no candidate, and of what lies between steps
  std::vector<std::vector<double>> tensor_ms;  // by tensor, by format: the steps that read it
};

// All models are measured interleaved. Times of steps are scaled so that with the rest they are those of whole runs
// without profiling. An estimate: what is claimed of a plan is measured (plan_speed.h). `seconds`: longest measured
// part.
FormatTimes time_formats(const Candidates& candidates, const Graph& original, const NamedTensors& inputs,
                         const SessionOptions& session, double seconds, uint64_t seed);

}  // namespace hone
