#include "runtime/specialised.h"

#include <algorithm>
#include <optional>

#include "base/threads.h"
#include "kernels/lacking.h"
#include "ops/calls/control.h"
#include "ops/control.h"
#include "runtime/bodies.h"
#include "runtime/check_finite.h"
#include "runtime/stage.h"
#include "runtime/turn_times.h"

namespace hone {
namespace {

StepProfile profile_of(const Graph& graph, NodeId n, bool bodies_are_stages) {
  const OpDef& op = *graph.node(n).op;
  const bool runs_bodies = bodies_are_stages && is_control(op);
  return {.name = graph.value(graph.node(n).results[0]).name,
          .kind = runs_bodies ? "bodies" : "interpreted",
          .ops = op.name,
          .why_interpreted = runs_bodies ? "" : "shapes depend on data"};
}

NamedTensors inputs_of(const Graph& graph, const NamedTensors& known) {
  NamedTensors inputs;
  for (ValueId v : graph.inputs()) inputs.emplace(graph.value(v).label, known.at(graph.value(v).label));
  return inputs;
}

// Outputs by label. `bodies`: that run those of the graph; null: they are evaluated.
NamedTensors evaluated(const Graph& graph, const NamedTensors& known, const Bindings& sizes, Workspace& workspace,
                       const RunNotes& notes, const Bodies* bodies) {
  const NamedTensors inputs = inputs_of(graph, known);
  std::vector<Tensor> values;
  for (ValueId v : graph.inputs()) values.push_back(inputs.at(graph.value(v).label));
  std::optional<TurnTimes> times;
  if (notes.profile) times.emplace(*notes.profile);
  const AfterNode look = after_each(graph, inputs, workspace, notes);
  const AfterNode after = [&](NodeId n, std::span<const Tensor> results) {
    look(n, results);
    if (times) times->end_node(graph, n, profile_of(graph, n, bodies != nullptr));
  };
  const Busy busy;
  std::vector<Tensor> results =
      evaluate_body(graph, std::move(values), sizes, after,
                    bodies ? bodies->runner(workspace, times ? &*times : nullptr) : BodyRunner());
  if (times) times->finish();
  NamedTensors outputs;
  for (size_t i = 0; i < results.size(); ++i) outputs.emplace(graph.outputs()[i].label, std::move(results[i]));
  return outputs;
}

// The same of a graph that is one `if`, without asking rules that say nothing of what its body gives.
NamedTensors evaluated_branch(const Graph& graph, const NamedTensors& known, const Bindings& sizes,
                              Workspace& workspace, const Bodies& bodies) {
  const Node& node = graph.node(graph.nodes()[0]);
  std::vector<const Tensor*> operands;
  for (ValueId v : node.operands)
    operands.push_back(graph.constant(v) ? graph.constant(v) : &known.at(graph.value(v).label));
  std::vector<TensorType> types;
  for (ValueId v : node.results) types.push_back(graph.type(v));
  const Busy busy;
  const std::vector<Tensor> results = evaluate_op(*node.op, {operands, node.attributes, types, &node.subgraphs, &sizes},
                                                  bodies.runner(workspace, nullptr));
  NamedTensors outputs;
  for (const Output& output : graph.outputs()) {
    const auto place = std::ranges::find(node.results, output.value) - node.results.begin();
    outputs.emplace(output.label, results.at(static_cast<size_t>(place)));
  }
  return outputs;
}

// Whether an `if` is its only node, and gives all that it gives.
bool is_branch(const Graph& graph) {
  return graph.nodes().size() == 1 && graph.node(graph.nodes()[0]).op == &if_def &&
         std::ranges::all_of(graph.outputs(), [&](const Output& o) { return graph.producer(o.value) != kNone; });
}

}  // namespace

AfterNode after_each(const Graph& graph, const NamedTensors& inputs, const Workspace& workspace,
                     const RunNotes& notes) {
  return [&](NodeId n, std::span<const Tensor> results) {
    workspace.check_step();
    const Node& node = graph.node(n);
    for (size_t i = 0; notes.check && i < results.size(); ++i)
      require_finite(graph, node.results[i], results[i], node.op->name, node.operands, inputs);
  };
}

Tail::Tail(CutGraph::Tail parts, StagesShared& shared, SharedKernels& kernels, int next) : parts_(std::move(parts)) {
  if (next > 0) {
    bodies_ = std::make_unique<Bodies>(parts_.turn, shared, next);
    if (!parts_.rest.nodes().empty()) rest_ = std::make_unique<Stage>(parts_.rest, shared, kernels, next);
  }
  is_branch_ = bodies_ && is_branch(parts_.turn);
  if (!shared.lowering.no_fallback) return;
  std::vector<LackingStep> lacking;
  const auto note = [&](const Graph& graph, NodeId n, bool bodies_are_stages) {
    const StepProfile step = profile_of(graph, n, bodies_are_stages);
    if (step.kind == "interpreted") lacking.push_back({step.name, step.ops, "the interpreter", step.why_interpreted});
  };
  for (NodeId n : parts_.turn.nodes()) note(parts_.turn, n, bodies_ != nullptr);
  if (!rest_)
    for (NodeId n : parts_.rest.nodes()) note(parts_.rest, n, false);
  refuse_lacking(*shared.lowering.device, lacking);
}
Tail::~Tail() = default;

std::vector<Tensor> Tail::run(NamedTensors known, const Bindings& sizes, Workspace& workspace,
                              const RunNotes& notes) const {
  if (is_branch_ && !notes.profile && !notes.check)
    known.merge(evaluated_branch(parts_.turn, known, sizes, workspace, *bodies_));
  else known.merge(evaluated(parts_.turn, known, sizes, workspace, notes, bodies_.get()));
  if (rest_) {
    std::vector<Tensor> results = rest_->run(inputs_of(parts_.rest, known), sizes, {}, workspace, notes);
    for (size_t i = 0; i < results.size(); ++i) known.emplace(parts_.rest.outputs()[i].label, std::move(results[i]));
  } else if (!parts_.rest.nodes().empty()) {
    known.merge(evaluated(parts_.rest, known, sizes, workspace, notes, nullptr));
  }
  std::vector<Tensor> outputs;
  for (const std::string& label : parts_.outputs) outputs.push_back(known.at(label));
  return outputs;
}

Specialised::Specialised(Executable made, Bindings values, std::shared_ptr<const Tail> after)
    : executable(std::move(made)), sizes(std::move(values)), tail(std::move(after)) {}

const std::shared_ptr<const std::vector<StepProfile>>& Specialised::steps() const {
  std::call_once(described_, [&] { steps_ = std::make_shared<const std::vector<StepProfile>>(executable.profiles()); });
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
