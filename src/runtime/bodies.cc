#include "runtime/bodies.h"

#include <set>

#include "ops/control.h"

namespace hone {
namespace {

// Inputs and outputs of a body are known by their places.
Graph labelled(Graph graph) {
  for (size_t i = 0; i < graph.inputs().size(); ++i) graph.set_label(graph.inputs()[i], std::to_string(i));
  std::vector<Output> outputs(graph.outputs().begin(), graph.outputs().end());
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i].label = std::to_string(i);
  graph.set_outputs(std::move(outputs));
  return graph;
}

// All that the graph and its bodies mention.
void collect_symbols(const Graph& graph, std::vector<std::string>& symbols) {
  const auto collect = [&](const Shape& shape) {
    for (const Dim& dim : shape) dim.collect_symbols(symbols);
  };
  for (ValueId v : graph.inputs()) collect(graph.type(v).shape);
  for (NodeId n : graph.nodes()) {
    const Node& node = graph.node(n);
    for (ValueId v : node.results) collect(graph.type(v).shape);
    for (const auto& [name, value] : node.attributes.items()) {
      if (const auto* dim = std::get_if<Dim>(&value)) dim->collect_symbols(symbols);
      if (const auto* shape = std::get_if<Shape>(&value)) collect(*shape);
    }
    for (const Graph& body : node.subgraphs) collect_symbols(body, symbols);
  }
}

std::set<std::string> symbols_of(const Graph& graph) {
  std::vector<std::string> symbols;
  collect_symbols(graph, symbols);
  return {symbols.begin(), symbols.end()};
}

// The symbols around a body that its inputs say nothing of; none where the inputs do not fit. A symbol may have another
// size inside, as sizes of values that a loop carries have in each iteration.
std::optional<Bindings> symbols_around(const Graph& graph, std::span<const Tensor> inputs, Bindings around) {
  Bindings own;
  const auto each_size = [&](const auto& visit) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const TensorType& type = graph.type(graph.inputs()[i]);
      if (type.container != Container::none || !type.ranked) continue;
      for (size_t d = 0; d < type.rank(); ++d)
        if (!visit(type.shape[d], inputs[i].shape()[d])) return false;
    }
    return true;
  };
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!fits(inputs[i], graph.type(graph.inputs()[i]))) return std::nullopt;
  each_size([&](const Dim& dim, int64_t size) {
    if (dim.is_symbol()) own.try_emplace(dim.to_string(), size), around.erase(dim.to_string());
    return true;
  });
  Bindings all = around;
  all.insert(own.begin(), own.end());
  const bool agree = each_size([&](const Dim& dim, int64_t size) { return dim.substitute(all) == Dim(size); });
  if (!agree) return std::nullopt;
  return around;
}

}  // namespace

struct Bodies::Body {
  const std::set<std::string> symbols;
  SharedKernels kernels;
  Stage stage;
  Body(const Graph& graph, StagesShared& shared, int number)
      : symbols(symbols_of(graph)),
        kernels(shared.kernels, static_cast<ValueId>(graph.value_capacity())),
        stage(labelled(graph), shared, kernels, number) {}
};

Bodies::Bodies(const Graph& graph, StagesShared& shared, int number) : no_fallback_(shared.lowering.no_fallback) {
  for (NodeId n : graph.nodes())
    if (is_control(*graph.node(n).op))
      for (const Graph& body : graph.node(n).subgraphs)
        bodies_.emplace(&body, std::make_unique<Body>(body, shared, number));
}
Bodies::~Bodies() = default;

BodyRunner Bodies::runner(Workspace& workspace, TurnTimes* times) const {
  return [this, &workspace, times](const Graph& graph, std::vector<Tensor> inputs, const Bindings& around) {
    Body& body = *bodies_.at(&graph);
    Bindings seen;  // what says nothing in the body does not keep it from being found by the shapes of its inputs
    for (const auto& [symbol, size] : around)
      if (body.symbols.contains(symbol)) seen.emplace(symbol, size);
    const std::optional<Bindings> further = symbols_around(graph, inputs, std::move(seen));
    if (!further && no_fallback_)
      fail(
          "a body gets inputs of other types or sizes than it declares, and only the interpreter can run it; without "
          "--no-fallback the model runs");
    if (!further) return evaluate_body(graph, std::move(inputs), around);
    NamedTensors given;
    for (size_t i = 0; i < inputs.size(); ++i) given.emplace(std::to_string(i), std::move(inputs[i]));
    RunProfile profile;
    std::vector<Tensor> outputs =
        body.stage.run(given, *further, {}, workspace, {.profile = times ? &profile : nullptr});
    if (times) times->add_body(graph, profile);
    for (Tensor& output : outputs) output = output.on_host();
    return outputs;
  };
}

}  // namespace hone
