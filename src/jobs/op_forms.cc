#include "jobs/op_forms.h"

#include <algorithm>
#include <cmath>

#include "jobs/placements.h"

namespace hone {
namespace {

// Set up anew ten times, as hone bench does with models: two sessions differ by where their memory lies.
std::vector<Timing> time_in_turn(std::vector<OpForm>& forms, const SessionOptions& options, double seconds,
                                 uint64_t seed) {
  std::vector<TimedCall> calls;
  for (OpForm& form : forms) calls.push_back({form.name, [&form] { form.session->run(form.inputs); }});
  const auto place_anew = [&](const std::vector<size_t>& order) {
    std::vector<NamedTensors> old;  // freed when all copies are made
    for (OpForm& form : forms) {
      form.session.reset();
      old.push_back(form.inputs);
    }
    for (size_t i : order) {
      forms[i].session = std::make_unique<Session>(forms[i].graph, options);
      forms[i].inputs = copied(forms[i].inputs);
    }
  };
  return time_placements(calls, place_anew, seconds, seed);
}

}  // namespace

double largest_difference(const Tensor& a, const Tensor& b) {
  const std::vector<float> x = a.to_floats(), y = b.to_floats();
  double most = 0, apart = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    most = std::max(most, std::abs(double{x[i]}));
    apart = std::max(apart, std::abs(double{x[i]} - double{y[i]}));
  }
  return apart / most;
}

void open_sessions(std::vector<OpForm>& forms, const SessionOptions& options) {
  for (OpForm& form : forms) form.session = std::make_unique<Session>(form.graph, options);
}

std::vector<OpTimes> time_forms(std::vector<OpForm>& forms, const OpMeasuring& measuring, const TaskContext& context) {
  context.check();
  std::vector<Timing> timings = time_in_turn(forms, measuring.session, measuring.seconds / 2, measuring.seed);
  std::vector<ProfiledModel> models;
  for (OpForm& form : forms) models.push_back({form.name, *form.session, form.inputs});
  context.check();
  std::vector<StepTimes> times = measure_steps(models, measuring.seconds / 2, measuring.seed);
  std::vector<OpTimes> all;
  for (size_t i = 0; i < forms.size(); ++i) all.push_back({forms[i].name, std::move(times[i]), std::move(timings[i])});
  return all;
}

}  // namespace hone
