// Several models in processes of their own, taken in turn: compile times, laying out, first result and memory depend on
// what ran before (page cache, clock), so no model may always be the first.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "jobs/probe.h"
#include "jobs/progress.h"
#include "report/record.h"

namespace hone {

// Of one model, by round. Cold: with an empty cache of machine code. Warm: with what the cold one left.
struct ProbeRounds {
  std::vector<ProbeResult> cold, warm;
};

struct ProbeRoundsOptions {
  std::string program;  // of hone
  int rounds = 6;
  double seconds = 20;  // no further round is begun after that, but kFewestProbes are taken
  uint64_t seed = 1;    // of the order
  Progress progress = {};
};
constexpr int kFewestProbes = 2;

// Each model first has a process that is not counted. ProbeOptions::session.cache_folder is replaced.
std::vector<ProbeRounds> probe_in_turn(std::span<const ProbeOptions> models, const ProbeRoundsOptions& options);

// The median of a field, with its interval where there are rounds enough; nothing without rounds.
Cell median_cell(const std::vector<ProbeResult>& results, double ProbeResult::*field);
Cell median_cell(const std::vector<ProbeResult>& results, int64_t ProbeResult::*field);

}  // namespace hone
