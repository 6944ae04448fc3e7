#include "jobs/probe_rounds.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "jobs/scratch_folder.h"
#include "measure/turns.h"

namespace hone {
namespace {

ProbeResult probe_with(const TaskContext& context, ProbeOptions probe, const ScratchFolder& cache) {
  context.check();
  probe.session.cache_folder = cache.path();
  return context.new_process(probe);
}

}  // namespace

std::vector<ProbeRounds> probe_in_turn(std::span<const ProbeOptions> models, const ProbeRoundsOptions& options,
                                       const TaskContext& context) {
  std::vector<ProbeRounds> all(models.size());
  const int64_t start = steady_ns();
  for (const ProbeOptions& model : models) probe_with(context, model, ScratchFolder());
  Turns turns(models.size(), options.seed);
  for (int round = 0; round < options.rounds; ++round) {
    if (round >= kFewestProbes && static_cast<double>(steady_ns() - start) * 1e-9 >= options.seconds) break;
    context.tell(fmt::format("compile times and memory, in fresh processes: round {}", round + 1));
    for (size_t i : turns.next()) {
      const ScratchFolder cache;
      all[i].cold.push_back(probe_with(context, models[i], cache));
      all[i].warm.push_back(probe_with(context, models[i], cache));
    }
  }
  return all;
}

}  // namespace hone
