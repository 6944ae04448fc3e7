#include "jobs/format_costs.h"

#include <algorithm>
#include <memory>

#include "jobs/step_times.h"
#include "measure/statistics.h"

namespace hone {
namespace {

// A pass may have derived a constant of its own from a tensor: "name" becomes "name.bf16".
bool is_made_from(const std::string& label, const std::string& name) {
  return label.starts_with(name) && (label.size() == name.size() || label[name.size()] == '.');
}

// Milliseconds of the steps that read each candidate; steps that read several are shared out.
std::vector<double> by_tensor(const Candidates& candidates, const StepTimes& times) {
  std::vector<double> ms(candidates.tensors.size(), 0);
  for (size_t s = 0; s < times.steps().size(); ++s) {
    std::vector<size_t> read;
    for (size_t t = 0; t < candidates.tensors.size(); ++t)
      if (std::ranges::any_of(times.steps()[s].weights, [&](const std::string& label) {
            return is_made_from(label, candidates.tensors[t].name);
          }))
        read.push_back(t);
    for (size_t t : read) ms[t] += times.step_ms[s] / static_cast<double>(read.size());
  }
  return ms;
}

}  // namespace

FormatTimes time_formats(const Candidates& candidates, const Graph& original, const NamedTensors& inputs,
                         const SessionOptions& session, double seconds, uint64_t seed) {
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<ProfiledModel> models;
  const auto add = [&](const std::string& name, Graph graph) {
    sessions.push_back(std::make_unique<Session>(std::move(graph), session));
    models.push_back({name, *sessions.back(), inputs});
  };
  for (size_t f = 0; f < candidates.formats.size(); ++f)
    add(candidates.formats[f], candidates.with(candidates.uniform(static_cast<int>(f))));
  SessionOptions as_stored = session;
  as_stored.compute.reset();
  sessions.push_back(std::make_unique<Session>(original, as_stored));
  models.push_back({"original", *sessions.back(), inputs});
  const std::vector<StepTimes> all = measure_steps(models, seconds, seed);

  FormatTimes times{.original_ms = all.back().plain.p50 * 1e-6,
                    .tensor_ms = std::vector<std::vector<double>>(candidates.tensors.size())};
  std::vector<double> rests;
  for (size_t f = 0; f < candidates.formats.size(); ++f) {
    const std::vector<double> ms = by_tensor(candidates, all[f]);
    const double whole = all[f].plain.p50 * 1e-6, scale = whole / std::max(all[f].typical_ms(), 1e-9);
    double rest = whole;
    for (size_t t = 0; t < ms.size(); ++t) times.tensor_ms[t].push_back(scale * ms[t]), rest -= scale * ms[t];
    rests.push_back(rest);
  }
  times.rest_ms = median(rests);
  return times;
}

}  // namespace hone
