#include "jobs/latency_table.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "device/device.h"
#include "jobs/open_session.h"
#include "jobs/step_times.h"
#include "kernels/lower.h"
#include "measure/environment.h"
#include "passes/pipelines.h"
#include "runtime/cut_graph.h"

namespace hone {
namespace {

constexpr int64_t kChecked = 8;    // models of known steps that are measured as a whole
constexpr const char* kRest = "";  // name of what a run takes beside its steps

std::string types_of(const Graph& graph, std::span<const ValueId> values) {
  std::string text;
  for (ValueId v : values) text += " " + to_string(graph.type(v));
  return text;
}

PlannedStep planned(const Graph& graph, const Step& step, const LowerOptions& options) {
  const std::string ops = ops_of(graph, step->group);
  const std::string types = types_of(graph, step->reads) + " →" + types_of(graph, step->writes);
  std::string exact = step.plan ? options.device_of(step).code_key(*step.plan) : "interpreted";
  if (step.on_host()) exact += fmt::format(" on the host for {}", options.device->name());
  for (const int64_t dim : step.dims) exact += fmt::format(" {}", dim);
  return {.name = step->name,
          .key = hash128(fmt::format("{}\n{}\n{}", exact, ops, types)).hex(),
          .what = fmt::format("{} {}{}", step.plan ? step.plan->kernel().name : "interpreted", ops, types)};
}

// As the times that are kept are of.
std::string machine_of(const SessionOptions& session) {
  return fmt::format("{}, {}", environment().cpu,
                     session.threads == 1 ? "1 thread" : fmt::format("{} threads", session.threads));
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  fail("{}: is no table of latencies: {}. Delete it, and what it had is measured again; or name another file", path,
       why);
}

}  // namespace

std::vector<PlannedStep> planned_steps(const Graph& graph, const ShapeOptions& shapes, const SessionOptions& session) {
  if (!session.compiles())
    fail("predicted_latency is the sum of compiled steps; leave --backend reference and -O0, -O1 out");
  const std::shared_ptr<Device> device = device_or_cpu(session.device);
  Graph prepared = prepare_for_codegen(graph, session.compute ? *session.compute : stored_compute(graph),
                                       session.pipeline, device->pipeline());
  prepared.compact();
  const SpecialisedParts parts = specialised_parts(prepared, bind_symbols(prepared, shapes));
  if (!parts.turns.empty()) fail("predicted_latency is of models whose sizes follow from those of the inputs");
  const LowerOptions options{.device = device,
                             .host = host_kernels_for(*device),
                             .no_fallback = session.no_fallback,
                             .fuse = session.fuse,
                             .no_winograd = session.no_winograd};
  const LoweredGraph lowered = lower(parts.head, options);
  std::vector<PlannedStep> steps;
  for (const Step& step : lowered.steps) steps.push_back(planned(parts.head, step, options));
  std::vector<ValueId> ends = parts.head.arguments();
  for (const Output& output : parts.head.outputs()) ends.push_back(output.value);
  const std::string what = "beside the steps: inputs and outputs" + types_of(parts.head, ends);
  steps.push_back({kRest, hash128(what).hex(), what});
  return steps;
}

std::map<std::string, LatencyTable::Entries> LatencyTable::read() const {
  std::map<std::string, Entries> all;
  if (path_.empty() || !std::filesystem::exists(path_)) return all;
  Json tree;
  try {
    tree = read_json_file(path_);
  } catch (const Error& e) {
    refuse(path_, e.what());
  }
  if (!tree.is_object()) refuse(path_, "expected machines with their steps");
  for (const auto& [machine, steps] : tree.items()) {
    if (!steps.is_object()) refuse(path_, fmt::format("\"{}\" has no steps", machine));
    for (const auto& [key, step] : steps.items()) {
      const Json ms = step.is_object() ? step.value("ms", Json()) : Json(),
                 what = step.is_object() ? step.value("what", Json()) : Json();
      if (!ms.is_number() || !std::isfinite(ms.get<double>()) || ms.get<double>() < 0 || !what.is_string())
        refuse(path_, fmt::format("step {} is {}; expected \"ms\" and \"what\"", key, json_excerpt(step)));
      all[machine][key] = {ms.get<double>(), what.get<std::string>()};
    }
  }
  return all;
}

// With what others have added since: of what was measured twice the first stays.
void LatencyTable::add(const std::string& machine, const Entries& found) {
  for (auto& [other, entries] : read()) entries_[other].merge(entries);
  entries_[machine].insert(found.begin(), found.end());
  if (path_.empty()) return;
  Json tree = Json::object();
  for (const auto& [name, entries] : entries_)
    for (const auto& [key, entry] : entries) tree[name][key] = {{"ms", entry.ms}, {"what", entry.what}};
  std::error_code problem;  // which writing says
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), problem);
  write_file(path_, tree.dump(1));
}

LatencyPrediction LatencyTable::predict(const Model& model, const ShapeOptions& shapes, const SessionOptions& options,
                                        double seconds) {
  const std::vector<PlannedStep> steps = planned_steps(model.graph, shapes, options);
  const std::string machine = machine_of(options);
  const std::lock_guard lock(mutex_);
  for (auto& [other, entries] : read()) entries_[other].merge(entries);
  const Entries& known = entries_[machine];
  LatencyPrediction prediction;
  std::set<std::string> distinct, unknown;
  for (const PlannedStep& step : steps) {
    if (distinct.insert(step.key).second && !known.contains(step.key)) unknown.insert(step.key);
  }
  prediction.steps = std::ssize(distinct), prediction.measured = std::ssize(unknown);
  if (!unknown.empty() || checked_ < kChecked) {
    checked_ += unknown.empty();
    Session session = open_session(model, options);
    const Bindings sizes = bind_symbols(session.graph(), shapes);
    const NamedTensors inputs = default_inputs(session.graph(), sizes, 1);
    session.prepare(sizes);
    const ProfiledModel profiled{model.name, session, inputs};
    const StepTimes times = measure_steps({&profiled, 1}, seconds)[0];
    prediction.end_to_end_ms = times.plain.p50 * 1e-6;
    std::map<std::string, double> by_name{{kRest, std::max(times.unattributed_ms, 0.0)}};
    for (size_t i = 0; i < times.steps().size(); ++i) by_name[times.steps()[i].name] = times.step_ms[i];
    std::map<std::string, std::vector<double>> of_key;  // several steps of a model may be alike
    std::map<std::string, std::string> what;
    for (const PlannedStep& step : steps) {
      if (!unknown.contains(step.key)) continue;
      CHECK(by_name.contains(step.name), "the step {} is planned and does not run", step.name);
      of_key[step.key].push_back(by_name.at(step.name));
      what[step.key] = step.what;
    }
    Entries found;
    for (const auto& [key, ms] : of_key) found[key] = {median(ms), what.at(key)};
    if (!found.empty()) add(machine, found);
  }
  for (const PlannedStep& step : steps) prediction.ms += known.at(step.key).ms;
  return prediction;
}

}  // namespace hone
