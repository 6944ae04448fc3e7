#include <hone/graph.h>

#include <algorithm>

#include "api/graphs.h"
#include "api/guarded.h"
#include "api/values.h"
#include "base/registry.h"
#include "ir/node_rules.h"
#include "ir/text.h"
#include "ops/registry.h"
#include "passes/pipelines.h"

namespace hone::api {
namespace {

void check_value(const hone::Graph& graph, ValueId id) {
  if (id < 0 || static_cast<size_t>(id) >= graph.value_capacity() || !graph.value(id).live)
    fail("graph {} has no value {}", graph.name, id);
}

void check_node(const hone::Graph& graph, NodeId id) {
  if (id < 0 || static_cast<size_t>(id) >= graph.node_capacity() || !graph.node(id).live)
    fail("graph {} has no node {}", graph.name, id);
}

void check_kind(const hone::Graph& graph, ValueId id, hone::ValueKind kind, const char* what) {
  check_value(graph, id);
  if (graph.value(id).kind != kind) fail("%{} of graph {} is no {}", graph.value(id).name, graph.name, what);
}

// Throws Error where the node would read a value that a later one computes, or its own.
void check_order(const hone::Graph& graph, ValueId value, NodeId reader) {
  const NodeId producer = graph.producer(value);
  if (producer == kNone) return;
  const std::span<const NodeId> order = graph.nodes();
  if (std::ranges::find(order, producer) >= std::ranges::find(order, reader))
    fail("%{} is computed after the node {} that would read it", graph.value(value).name, reader);
}

TensorType checked_type(const std::string& text) {
  TensorType type = parse_type(text);
  expect_addressable(type);
  return type;
}

// Changes one node and infers its types again; where they do not fit, all is as it was.
template <class Change>
void change_node(hone::Graph& graph, NodeId node, Change change) {
  hone::Graph changed = graph;
  change(changed);
  changed.reinfer(node);
  graph = std::move(changed);
}

static_assert(static_cast<int>(ValueKind::result) == static_cast<int>(hone::ValueKind::result) &&
              static_cast<int>(InputRole::state) == static_cast<int>(hone::InputRole::state) && kAbsent == kNone);

}  // namespace

Graph wrapped(hone::Graph graph) { return Graph(std::make_shared<Graph::Impl>(Graph::Impl{std::move(graph)})); }

Graph::Graph(const std::string& name) : impl_(std::make_shared<Impl>()) { impl_->graph.name = name; }
Graph::Graph(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Graph::Impl& Graph::mine() {
  if (impl_.use_count() > 1) impl_ = std::make_shared<Impl>(*impl_);
  return *impl_;
}

Graph Graph::parse(const std::string& text, const NamedTensors& constants) {
  return guarded([&] {
    const auto find = [&](const std::string& name, const TensorType&) -> std::optional<hone::Tensor> {
      const auto found = constants.find(name);
      return found == constants.end() ? std::nullopt : std::optional(engine(found->second));
    };
    return wrapped(parse_graph(
        text, {.find_op = ops::find, .op_names = [] { return names_of<OpDef>(ops::all()); }, .find_constant = find}));
  });
}

std::string Graph::text() const {
  return guarded([&] { return print(impl_->graph); });
}

ValueId Graph::add_input(const std::string& label, const std::string& type) {
  return guarded([&] { return mine().graph.add_input(label, checked_type(type)); });
}
ValueId Graph::add_parameter(const std::string& label, const Tensor& initial) {
  return guarded([&] { return mine().graph.add_parameter(label, engine(initial)); });
}
ValueId Graph::add_state(const std::string& label, const std::string& type) {
  return guarded([&] { return mine().graph.add_state(label, checked_type(type)); });
}
ValueId Graph::add_state(const std::string& label, const Tensor& initial) {
  return guarded([&] {
    hone::Tensor value = engine(initial);
    const TensorType type = value.type();
    return mine().graph.add_state(label, type, std::move(value));
  });
}
ValueId Graph::add_constant(const std::string& label, const Tensor& value) {
  return guarded([&] { return mine().graph.add_constant(label, engine(value)); });
}

std::vector<ValueId> Graph::add_node(const std::string& op, const std::vector<ValueId>& operands,
                                     const Attributes& attributes, const std::string& result_name,
                                     const std::vector<Graph>& bodies) {
  return guarded([&] {
    const OpDef& def = op_named(op);
    for (const ValueId operand : operands)
      if (operand != kAbsent) check_value(impl_->graph, operand);
    if (std::ssize(bodies) != def.bodies) fail("{}: {} bodies are given, {} are needed", op, bodies.size(), def.bodies);
    std::vector<hone::Graph> subgraphs;
    for (const Graph& body : bodies) subgraphs.push_back(engine(body));
    hone::Graph& graph = mine().graph;
    const NodeId node =
        graph.add_node(def, operands, attributes_of(def, attributes), result_name, std::move(subgraphs));
    try {
      if (graph.nodes().back() != node)  // it was put before others
        for (const ValueId operand : operands)
          if (operand != kAbsent) check_order(graph, operand, node);
    } catch (...) {
      graph.erase(node);
      throw;
    }
    return graph.node(node).results;
  });
}

void Graph::set_insertion_point(NodeId before) {
  guarded([&] {
    if (before != kAbsent) check_node(impl_->graph, before);
    mine().graph.set_insertion_point(before);
  });
}

void Graph::add_output(ValueId value, const std::string& label) {
  guarded([&] {
    check_value(impl_->graph, value);
    mine().graph.add_output(value, label);
  });
}
void Graph::add_update(ValueId target, ValueId value) {
  guarded([&] {
    check_value(impl_->graph, target), check_value(impl_->graph, value);
    mine().graph.add_update(target, value);
  });
}

std::string Graph::name() const { return impl_->graph.name; }
std::vector<ValueId> Graph::inputs() const { return {impl_->graph.inputs().begin(), impl_->graph.inputs().end()}; }
std::vector<ValueId> Graph::constants() const { return impl_->graph.constants(); }
std::vector<NodeId> Graph::nodes() const { return {impl_->graph.nodes().begin(), impl_->graph.nodes().end()}; }
std::vector<std::string> Graph::symbols() const { return impl_->graph.symbols(); }
std::map<std::string, std::string> Graph::metadata() const { return impl_->graph.metadata; }
ValueId Graph::find_value(const std::string& name) const { return impl_->graph.find_value(name); }
ValueId Graph::find_constant(const std::string& label) const { return impl_->graph.find_constant(label); }

std::vector<OutputInfo> Graph::outputs() const {
  std::vector<OutputInfo> all;
  for (const Output& output : impl_->graph.outputs()) all.push_back({output.value, output.label, output.updates});
  return all;
}

NodeInfo Graph::node(NodeId id) const {
  return guarded([&] {
    check_node(impl_->graph, id);
    const Node& node = impl_->graph.node(id);
    NodeInfo info{node.op->name, node.operands, node.results, wrapped(node.attributes), {}};
    for (const hone::Graph& body : node.subgraphs) info.bodies.push_back(wrapped(body));
    return info;
  });
}

ValueInfo Graph::value(ValueId id) const {
  return guarded([&] {
    check_value(impl_->graph, id);
    const Value& value = impl_->graph.value(id);
    ValueInfo info{.kind = static_cast<ValueKind>(value.kind),
                   .role = static_cast<InputRole>(value.role),
                   .name = value.name,
                   .label = value.label,
                   .type = hone::to_string(value.type),
                   .dtype = wrapped(value.type.dtype),
                   .ranked = value.type.ranked,
                   .node = value.node,
                   .result = value.result};
    for (const Dim& dim : value.type.shape) info.shape.push_back(dim.to_string());
    return info;
  });
}

std::vector<Use> Graph::users(ValueId id) const {
  return guarded([&] {
    check_value(impl_->graph, id);
    std::vector<Use> all;
    for (const hone::Graph::Use& use : impl_->graph.uses(id)) all.push_back({use.node, use.operand});
    return all;
  });
}

Tensor Graph::constant(ValueId id) const {
  return guarded([&] {
    check_kind(impl_->graph, id, hone::ValueKind::constant, "constant");
    return wrapped(*impl_->graph.constant(id));
  });
}

void Graph::replace_all_uses(ValueId old_value, ValueId new_value) {
  guarded([&] {
    check_value(impl_->graph, old_value), check_value(impl_->graph, new_value);
    if (old_value == new_value) return;
    for (const hone::Graph::Use& use : impl_->graph.uses(old_value)) check_order(impl_->graph, new_value, use.node);
    hone::Graph changed = impl_->graph;
    changed.replace_all_uses(old_value, new_value);
    for (const hone::Graph::Use& use : impl_->graph.uses(old_value)) changed.reinfer(use.node);
    mine().graph = std::move(changed);
  });
}

void Graph::set_operand(NodeId node, int operand, ValueId value) {
  guarded([&] {
    check_node(impl_->graph, node);
    const int64_t operands = std::ssize(impl_->graph.node(node).operands);
    if (operand < 0 || operand >= operands) fail("node {} has {} operands, and no {}", node, operands, operand);
    if (value != kAbsent) check_value(impl_->graph, value), check_order(impl_->graph, value, node);
    change_node(mine().graph, node, [&](hone::Graph& graph) { graph.set_operand(node, operand, value); });
  });
}

void Graph::set_attribute(NodeId node, const std::string& name, const Attribute& value) {
  guarded([&] {
    check_node(impl_->graph, node);
    const Node& changed = impl_->graph.node(node);
    hone::Attributes all = changed.attributes;
    all.set(name, attribute_of(*changed.op, name, value));
    all = normalised(*changed.op, std::move(all));
    check_attributes(*changed.op, all);
    change_node(mine().graph, node, [&](hone::Graph& graph) { graph.set_attribute(node, name, all.items().at(name)); });
  });
}

void Graph::set_constant(ValueId constant, const Tensor& value) {
  guarded([&] {
    check_kind(impl_->graph, constant, hone::ValueKind::constant, "constant");
    mine().graph.set_constant(constant, engine(value));
  });
}
void Graph::set_input_type(ValueId input, const std::string& type) {
  guarded([&] {
    check_kind(impl_->graph, input, hone::ValueKind::input, "input");
    mine().graph.set_input_type(input, checked_type(type));
  });
}

void Graph::set_outputs(const std::vector<OutputInfo>& outputs) {
  guarded([&] {
    hone::Graph changed = impl_->graph;
    changed.set_outputs({});
    for (const OutputInfo& output : outputs) {
      check_value(changed, output.value);
      if (output.updates == kAbsent) changed.add_output(output.value, output.label);
      else check_value(changed, output.updates), changed.add_update(output.updates, output.value);
    }
    mine().graph = std::move(changed);
  });
}

void Graph::set_metadata(const std::string& key, const std::string& text) {
  if (text.empty()) mine().graph.metadata.erase(key);
  else mine().graph.metadata[key] = text;
}
void Graph::rename(ValueId value, const std::string& name) {
  guarded([&] {
    check_value(impl_->graph, value);
    mine().graph.rename(value, name);
  });
}
void Graph::set_label(ValueId value, const std::string& label) {
  guarded([&] {
    check_value(impl_->graph, value);
    mine().graph.set_label(value, label);
  });
}
void Graph::erase_node(NodeId node) {
  guarded([&] {
    check_node(impl_->graph, node);
    mine().graph.erase(node);
  });
}
void Graph::erase_input(ValueId input) {
  guarded([&] {
    check_kind(impl_->graph, input, hone::ValueKind::input, "input");
    if (impl_->graph.update_of(input) != kNone)
      fail("input %{} is updated by the graph; take the update out of its outputs before",
           impl_->graph.value(input).name);
    mine().graph.erase_input(input);
  });
}
void Graph::erase_unused_constants() { mine().graph.erase_unused_constants(); }
void Graph::compact() { mine().graph.compact(); }

void Graph::infer_types() {
  guarded([&] {
    hone::Graph changed = impl_->graph;
    changed.reinfer();
    mine().graph = std::move(changed);
  });
}

void Graph::verify() const {
  guarded([&] { hone::verify(impl_->graph); });
}

Graph Graph::after_passes(const std::vector<std::string>& passes,
                          const std::map<std::string, std::vector<std::string>>& options) const {
  return guarded([&] {
    PassContext context;
    for (const auto& [name, values] : options) context.options.set(name, values);
    return wrapped(run_passes(impl_->graph, passes, context));
  });
}

Graph Graph::with_sizes(const std::map<std::string, int64_t>& sizes) const {
  return guarded([&] {
    const std::vector<std::string> known = impl_->graph.symbols();
    for (const auto& [name, size] : sizes) {
      if (std::ranges::find(known, name) == known.end()) fail("graph {} has no size {}", impl_->graph.name, name);
      if (size < 0) fail("size {} is {}; a number from 0 is needed", name, size);
    }
    return wrapped(specialise(impl_->graph, sizes));
  });
}

}  // namespace hone::api
