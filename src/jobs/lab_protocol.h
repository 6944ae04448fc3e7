// The protocol that coursework used: the mean of five runs, without warm-up, the first of which compiles. Shown beside
// the fair one, so that the two numbers can be told from each other.
#pragma once

#include <vector>

#include "jobs/contender.h"
#include "measure/timing.h"
#include "report/record.h"

namespace hone {

// Runs the protocol on each (in a session of its own, without a cache of machine code) and explains its figures by the
// fair ones: `timings` of the same contenders. Table "lab": mean, where it comes from, totals for 1 to 10000 runs, and
// when each model has paid for its compilation against the first.
Section lab_section(const std::vector<Contender>& contenders, const std::vector<Timing>& timings,
                    const ContenderOptions& options);

}  // namespace hone
