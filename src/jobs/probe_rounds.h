// Several models in processes of their own, taken in turn: compile times, laying out, first result and memory depend on
// what ran before (page cache, clock), so no model may always be the first.
#pragma once

#include <span>
#include <vector>

#include "jobs/probe.h"
#include "jobs/task.h"

namespace hone {

// Of one model, by round. Cold: with an empty cache of machine code. Warm: with what the cold one left.
struct ProbeRounds {
  std::vector<ProbeResult> cold, warm;
};

struct ProbeRoundsOptions {
  int rounds = 6;
  double seconds = 20;  // no further round is begun after that, but kFewestProbes are taken
  uint64_t seed = 1;    // of the order
};
constexpr int kFewestProbes = 2;

// Each model first has a process that is not counted. ProbeOptions::session.cache_folder is replaced.
// `context.new_process` must be there.
std::vector<ProbeRounds> probe_in_turn(std::span<const ProbeOptions> models, const ProbeRoundsOptions& options,
                                       const TaskContext& context);

}  // namespace hone
