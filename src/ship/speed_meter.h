// How long one inference of a candidate takes beside the original's: quickly, to choose by. What is said of the written
// file is measured by jobs/bench.h.
#pragma once

#include "jobs/candidate.h"
#include "ship/promise.h"

namespace hone {

class SpeedMeter {
 public:
  SpeedMeter(const Model& original, const CandidateOptions& options);

  // In turn with the original, for at most so many seconds after a warm-up. Of one placement in memory, which is not
  // what an interval of a claim is of. Throws Error where the candidate takes other inputs.
  Speed measure(const Graph& changed, double seconds);

  double original_ms() const { return original_ms_; }  // of one run

 private:
  const CandidateOptions options_;
  std::vector<Candidate> original_;
  double original_ms_ = 0;
};

}  // namespace hone
