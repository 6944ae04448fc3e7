// The protocol that coursework used: the mean of five runs, without warm-up, the first of which compiles. Shown beside
// the fair one, so that the two numbers can be told from each other.
#pragma once

#include <vector>

#include "jobs/candidate.h"
#include "measure/break_even.h"
#include "measure/timing.h"

namespace hone {

constexpr int kLabRuns = 5;  // of a repetition

// Of one model, by repetition.
struct LabRuns {
  SetUps set_ups;                // steady: of the fair protocol
  std::vector<double> means_ns;  // what the protocol reports
};

// The protocol several times on each, in turn, each time in a session of its own without a cache of machine code; a
// repetition that all have had before is not counted, so that what only the process's first model meets falls on none.
// `timings`: by the fair protocol. After `seconds` no further repetition is begun, but kFewestForInterval are taken.
std::vector<LabRuns> run_lab_protocol(const std::vector<Candidate>& candidates, const std::vector<Timing>& timings,
                                      const CandidateOptions& options, double seconds);

}  // namespace hone
