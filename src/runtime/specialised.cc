#include "runtime/specialised.h"

#include <algorithm>
#include <iterator>

#include "base/clock.h"
#include "base/threads.h"
#include "ops/control.h"
#include "runtime/bodies.h"
#include "runtime/check_finite.h"
#include "runtime/stage.h"

namespace hone {
namespace {

void add_evaluated(std::vector<StepProfile>& steps, const Graph& graph, bool bodies_are_stages) {
  for (NodeId n : graph.nodes()) {
    const OpDef& op = *graph.node(n).op;
    const bool runs_bodies = bodies_are_stages && is_control(op);
    steps.push_back({.name = graph.value(graph.node(n).results[0]).name,
                     .kind = runs_bodies ? "bodies" : "interpreted",
                     .ops = op.name,
                     .why_interpreted = runs_bodies ? "" : "shapes depend on data"});
  }
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
                       const RunNotes& notes, const BodyRunner& run_body = {}) {
  const NamedTensors inputs = inputs_of(graph, known);
  std::vector<Tensor> values;
  for (ValueId v : graph.inputs()) values.push_back(inputs.at(graph.value(v).label));
  const Busy busy;
  std::vector<Tensor> results =
      evaluate_body(graph, std::move(values), sizes, after_each(graph, inputs, workspace, notes), run_body);
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

Tail::Tail(CutGraph::Tail parts, StagesShared& shared, SharedKernels& kernels, int next) : parts_(std::move(parts)) {
  if (next == 0) return;
  bodies_ = std::make_unique<Bodies>(parts_.turn, shared, next);
  if (!parts_.rest.nodes().empty()) rest_ = std::make_unique<Stage>(parts_.rest, shared, kernels, next);
}
Tail::~Tail() = default;

std::vector<Tensor> Tail::run(NamedTensors known, const Bindings& sizes, Workspace& workspace,
                              const RunNotes& notes) const {
  known.merge(
      evaluated(parts_.turn, known, sizes, workspace, notes, bodies_ ? bodies_->runner(workspace) : BodyRunner()));
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
  add_evaluated(steps, parts_.turn, bodies_ != nullptr);
  if (!rest_) add_evaluated(steps, parts_.rest, false);
  return steps;
}

Specialised::Specialised(Executable made, Bindings values, std::shared_ptr<const Tail> after)
    : executable(std::move(made)), sizes(std::move(values)), tail(std::move(after)) {}

const std::shared_ptr<const std::vector<StepProfile>>& Specialised::steps() const {
  std::call_once(described_, [&] {
    std::vector<StepProfile> steps = executable.profiles();
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
