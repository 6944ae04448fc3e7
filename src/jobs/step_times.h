// Times of every step over many runs, taken beside runs without profiling, so that the profiler's own cost shows.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "measure/ratio.h"
#include "runtime/session.h"

namespace hone {

struct ProfiledModel {
  std::string name;
  Session& session;
  const NamedTensors& inputs;
};

struct StepTimes {
  std::string name;
  Timing plain, profiled;        // of whole runs
  std::vector<RunProfile> runs;  // the profiled ones after warm-up
  std::vector<double> step_ms;   // medians, by step
  double unattributed_ms = 0;    // median of what a run takes beside its steps: dispatch, inputs, outputs
  std::span<const StepProfile> steps() const { return runs[0].steps; }
  double typical_ms() const;                                       // all medians together: what shares are of
  Ratio overhead() const { return speed_ratio(profiled, plain); }  // what profiling makes of the time
};

// All models in one interleaved measurement, each with and without profiling.
std::vector<StepTimes> measure_steps(std::span<const ProfiledModel> models, double seconds, uint64_t seed = 1);

}  // namespace hone
