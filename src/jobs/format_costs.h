// What each tensor costs in time in each format, from profiles of models that are in one format as a whole.
#pragma once

#include <vector>

#include "measure/ratio.h"
#include "runtime/session.h"
#include "search/candidates.h"

namespace hone {

struct FormatTimes {
  double original_ms = 0;                      // of the whole model as it is
  double rest_ms = 0;                          // of what reads no candidate, and of what lies between steps
  std::vector<std::vector<double>> tensor_ms;  // by tensor, by format: the steps that read it
};

// All models are measured interleaved. `seconds`: longest measured part.
FormatTimes time_formats(const Candidates& candidates, const Graph& original, const NamedTensors& inputs,
                         const SessionOptions& session, double seconds, uint64_t seed);

// How many times as fast `changed` is.
Ratio verified_speed(Session& original, Session& changed, const NamedTensors& inputs, double seconds, uint64_t seed);

}  // namespace hone
