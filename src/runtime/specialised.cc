#include "runtime/specialised.h"

#include "base/clock.h"
#include "base/threads.h"
#include "runtime/check_finite.h"

namespace hone {
namespace {

std::vector<StepProfile> steps_of(const Executable& executable, const std::optional<Graph>& open) {
  std::vector<StepProfile> steps = executable.step_profiles();
  if (!open) return steps;
  for (NodeId n : open->nodes())
    steps.push_back({.name = open->value(open->node(n).results[0]).name,
                     .kind = "interpreted",
                     .ops = open->node(n).op->name,
                     .why_interpreted = "shapes depend on data"});
  return steps;
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

Specialised::Specialised(Executable made, std::optional<Graph> rest, std::vector<std::string> labels, Bindings values)
    : executable(std::move(made)), handed(std::move(labels)), open(std::move(rest)), bindings(std::move(values)) {}

const std::shared_ptr<const std::vector<StepProfile>>& Specialised::steps() const {
  std::call_once(described_,
                 [&] { steps_ = std::make_shared<const std::vector<StepProfile>>(steps_of(executable, open)); });
  return steps_;
}

std::vector<Tensor> Specialised::run(const NamedTensors& inputs, Workspace& workspace, const RunNotes& notes) const {
  if (notes.profile) {
    notes.profile->steps = *steps();
    notes.profile->owner = steps();
    notes.profile->marks_ns.clear();
    notes.profile->marks_ns.reserve(steps()->size() + 1);
  }
  std::vector<Tensor> results = executable.run(inputs, workspace, notes.profile, notes.check);
  return open ? run_open(inputs, std::move(results), workspace, notes) : results;
}

std::vector<Tensor> Specialised::run_open(const NamedTensors& inputs, std::vector<Tensor> results,
                                          const Workspace& workspace, const RunNotes& notes) const {
  NamedTensors handed_on;
  for (size_t i = 0; i < handed.size(); ++i) handed_on.emplace(handed[i], std::move(results[i]));
  std::vector<Tensor> values;
  for (ValueId v : open->inputs()) {
    const std::string& label = open->value(v).label;
    const auto found = handed_on.find(label);
    values.push_back(found == handed_on.end() ? inputs.at(label) : found->second);
  }
  const Busy busy;
  return evaluate_body(*open, std::move(values), bindings, after_each(*open, inputs, workspace, notes));
}

}  // namespace hone
