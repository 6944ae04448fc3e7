#include "runtime/specialised.h"

#include <algorithm>
#include <iterator>

#include "base/clock.h"
#include "base/threads.h"
#include "runtime/check_finite.h"
#include "runtime/stage.h"

namespace hone {
namespace {

void add_interpreted(std::vector<StepProfile>& steps, const Graph& graph) {
  for (NodeId n : graph.nodes())
    steps.push_back({.name = graph.value(graph.node(n).results[0]).name,
                     .kind = "interpreted",
                     .ops = graph.node(n).op->name,
                     .why_interpreted = "shapes depend on data"});
}

void add_steps(RunProfile& profile, const std::shared_ptr<const std::vector<StepProfile>>& steps) {
  if (profile.steps.empty()) {
    profile.steps = *steps, profile.owner = steps;
    return;
  }
  auto all = std::make_shared<std::vector<StepProfile>>(profile.steps.begin(), profile.steps.end());
  all->insert(all->end(), steps->begin(), steps->end());
  profile.steps = *all, profile.owner = all;
}

NamedTensors inputs_of(const Graph& graph, const NamedTensors& known) {
  NamedTensors inputs;
  for (ValueId v : graph.inputs()) inputs.emplace(graph.value(v).label, known.at(graph.value(v).label));
  return inputs;
}

// Outputs by label.
NamedTensors evaluated(const Graph& graph, const NamedTensors& known, const Bindings& sizes, const Workspace& workspace,
                       const RunNotes& notes) {
  const NamedTensors inputs = inputs_of(graph, known);
  std::vector<Tensor> values;
  for (ValueId v : graph.inputs()) values.push_back(inputs.at(graph.value(v).label));
  const Busy busy;
  std::vector<Tensor> results =
      evaluate_body(graph, std::move(values), sizes, after_each(graph, inputs, workspace, notes));
  NamedTensors outputs;
  for (size_t i = 0; i < results.size(); ++i) outputs.emplace(graph.outputs()[i].label, std::move(results[i]));
  return outputs;
}

}  // namespace

AfterNode after_each(const Graph& graph, const NamedTensors& inputs, const Workspace& workspace,
                     const RunNotes& notes) {
  return [&](NodeId n, std::span<const Tensor> results) {
    workspace.check_step();
    if (notes.profile) notes.profile->marks_ns.push_back(steady_ns());
    const Node& node = graph.node(n);
    for (size_t i = 0; notes.check && i < results.size(); ++i)
      require_finite(graph, node.results[i], results[i], node.op->name, node.operands, inputs);
  };
}

Tail::Tail(CutGraph::Tail parts, StagesShared& shared, int next) : parts_(std::move(parts)) {
  if (next > 0 && !parts_.rest.nodes().empty()) rest_ = std::make_unique<Stage>(parts_.rest, shared, next);
}
Tail::~Tail() = default;

std::vector<Tensor> Tail::run(NamedTensors known, const Bindings& sizes, Workspace& workspace,
                              const RunNotes& notes) const {
  known.merge(evaluated(parts_.turn, known, sizes, workspace, notes));
  if (rest_) {
    std::vector<Tensor> results = rest_->run(inputs_of(parts_.rest, known), sizes, {}, workspace, notes);
    for (size_t i = 0; i < results.size(); ++i) known.emplace(parts_.rest.outputs()[i].label, std::move(results[i]));
  } else {
    known.merge(evaluated(parts_.rest, known, sizes, workspace, notes));
  }
  std::vector<Tensor> outputs;
  for (const std::string& label : parts_.outputs) outputs.push_back(known.at(label));
  return outputs;
}

std::vector<StepProfile> Tail::turn_profiles() const {
  std::vector<StepProfile> steps;
  add_interpreted(steps, parts_.turn);
  if (!rest_) add_interpreted(steps, parts_.rest);
  return steps;
}

Specialised::Specialised(Executable made, Bindings values, std::shared_ptr<const Tail> after)
    : executable(std::move(made)), sizes(std::move(values)), tail(std::move(after)) {}

const std::shared_ptr<const std::vector<StepProfile>>& Specialised::steps() const {
  std::call_once(described_, [&] {
    std::vector<StepProfile> steps = executable.step_profiles();
    if (tail) std::ranges::move(tail->turn_profiles(), std::back_inserter(steps));
    steps_ = std::make_shared<const std::vector<StepProfile>>(std::move(steps));
  });
  return steps_;
}

std::vector<Tensor> Specialised::run(const NamedTensors& inputs, Workspace& workspace, const RunNotes& notes) const {
  if (notes.profile) add_steps(*notes.profile, steps());
  static const InputViews kNoViews;
  const InputViews& apart = notes.apart ? *notes.apart : kNoViews;
  std::vector<Tensor> results =
      executable.run(inputs, apart, tail ? nullptr : notes.lent, tail || !notes.views ? OutputViews() : *notes.views,
                     workspace, {notes.profile, notes.check, tail ? nullptr : notes.written});
  if (!tail) return results;
  NamedTensors known = inputs;
  for (const auto& [label, view] : apart)
    known.insert_or_assign(label, tensor_view(view.dtype, view.shape, view.bytes, *view.strides));
  for (auto& [label, tensor] : known) tensor = tensor.on_host();
  for (size_t i = 0; i < results.size(); ++i)
    known.emplace(executable.graph().outputs()[i].label, std::move(results[i]));
  OutputViews dense = notes.views ? *notes.views : OutputViews();  // of others there is a copy when the run has ended
  std::erase_if(dense, [](const auto& view) { return view.second.strides.has_value(); });
  RunNotes later = notes;
  later.views = &dense, later.apart = nullptr;
  return tail->run(std::move(known), sizes, workspace, later);
}

}  // namespace hone
