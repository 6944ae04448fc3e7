#include "jobs/step_times.h"

#include <numeric>

namespace hone {
namespace {

void summarise_steps(StepTimes& times) {
  std::vector<double> milliseconds(times.runs.size());
  std::vector<double> rest;
  for (const RunProfile& run : times.runs) rest.push_back(run.total_milliseconds());
  for (size_t step = 0; step < times.steps().size(); ++step) {
    for (size_t run = 0; run < times.runs.size(); ++run) {
      milliseconds[run] = times.runs[run].milliseconds(step);
      rest[run] -= milliseconds[run];
    }
    times.step_ms.push_back(median(milliseconds));
  }
  times.unattributed_ms = median(rest);
}

}  // namespace

double StepTimes::typical_ms() const { return std::accumulate(step_ms.begin(), step_ms.end(), unattributed_ms); }

std::vector<StepTimes> measure_steps(std::span<const ProfiledModel> models, double seconds, uint64_t seed) {
  std::vector<StepTimes> all(models.size());
  std::vector<TimedCall> candidates;
  for (size_t i = 0; i < models.size(); ++i) {
    const ProfiledModel& model = models[i];
    std::vector<RunProfile>& runs = all[i].runs;
    candidates.push_back({model.name, [&] { model.session.run(model.inputs); }});
    candidates.push_back({model.name + ", profiled", [&] { model.session.run(model.inputs, &runs.emplace_back()); }});
  }
  std::vector<Timing> timings = interleave(candidates, {.max_seconds = seconds, .seed = seed});
  for (size_t i = 0; i < models.size(); ++i) {
    StepTimes& times = all[i];
    times.name = models[i].name;
    times.plain = std::move(timings[2 * i]), times.profiled = std::move(timings[2 * i + 1]);
    const auto measured = static_cast<std::ptrdiff_t>(times.profiled.n()) * times.profiled.calls_per_sample;
    times.runs.erase(times.runs.begin(), times.runs.end() - measured);
    summarise_steps(times);
  }
  return all;
}

}  // namespace hone
