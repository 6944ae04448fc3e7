// Building and reading; editing is in graph_edit.cc.
#include "ir/graph.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "ir/node_order.h"
#include "ir/node_rules.h"
#include "ir/value_name.h"

namespace hone {
namespace {

constexpr int kMostUnbacked = 1 << 30;  // the counter never gets to names beyond it, which files may hold

int unbacked_number(std::string_view symbol) {
  int number = 0;
  const char* end = symbol.data() + symbol.size();
  const bool is_number = symbol.starts_with('_') && std::from_chars(symbol.data() + 1, end, number).ptr == end;
  return is_number && number < kMostUnbacked ? number : 0;
}

}  // namespace

std::string Graph::unique_name(std::string_view wanted) {
  const std::string base = value_name(wanted);
  if (!names_.contains(base)) return base;
  int& suffix = next_suffix_[base];
  for (;;) {
    std::string name = fmt::format("{}_{}", base, ++suffix);
    if (!names_.contains(name)) return name;
  }
}

ValueId Graph::add_value(Value value, std::string_view wanted_name) {
  const auto id = static_cast<ValueId>(values_.size());
  value.name = unique_name(wanted_name);
  names_[value.name] = id;
  values_.push_back(std::move(value));
  readers_.emplace_back();
  return id;
}

bool Graph::reads(NodeId id, ValueId operand) const {
  const Node& reader = nodes_[static_cast<size_t>(id)];
  return reader.live && std::find(reader.operands.begin(), reader.operands.end(), operand) != reader.operands.end();
}

void Graph::add_reader(ValueId id, NodeId node) {
  if (id == kNone) return;
  Readers& known = readers(id);
  ++known.operands;
  if (known.nodes.empty() || known.nodes.back() != node) known.nodes.push_back(node);
}

// Call it when the operand is another already, or the node gone. Nodes that no longer read the value are dropped when
// there are many.
void Graph::drop_reader(ValueId id) {
  if (id == kNone) return;
  Readers& known = readers(id);
  --known.operands;
  if (known.nodes.size() < 2 * static_cast<size_t>(known.operands) + 16) return;
  std::sort(known.nodes.begin(), known.nodes.end());
  known.nodes.erase(std::unique(known.nodes.begin(), known.nodes.end()), known.nodes.end());
  std::erase_if(known.nodes, [&](NodeId node) { return !reads(node, id); });
}

ValueId Graph::add_any_input(Value value) {
  expect_addressable(value.type);
  if (!input_labels_.insert(value.label).second) fail("graph {} already has an input \"{}\"", name, value.label);
  note_symbols(value.type);
  name_unknown(value.type, nullptr);
  value.kind = ValueKind::input;
  const std::string label = value.label;
  const ValueId id = add_value(std::move(value), label);
  inputs_.push_back(id);
  return id;
}

ValueId Graph::add_input(std::string label, TensorType type) {
  return add_any_input({.type = std::move(type), .label = std::move(label)});
}

ValueId Graph::add_parameter(std::string label, Tensor initial) {
  return add_any_input(
      {.type = initial.type(), .label = std::move(label), .role = InputRole::parameter, .initial = std::move(initial)});
}

ValueId Graph::add_state(std::string label, TensorType type, std::optional<Tensor> initial) {
  if (initial && !fits(*initial, type))
    fail("state \"{}\" is {}, and begins as {}", label, to_string(type), to_string(initial->type()));
  return add_any_input(
      {.type = std::move(type), .label = std::move(label), .role = InputRole::state, .initial = std::move(initial)});
}

ValueId Graph::add_constant(std::string label, Tensor tensor) {
  Value value{.kind = ValueKind::constant, .type = tensor.type(), .name = {}, .label = label, .constant = {}};
  value.constant = std::move(tensor);
  return add_value(std::move(value), label.empty() ? "c" : label);
}

std::vector<TensorType> Graph::infer(const Node& node) const {
  std::vector<const TensorType*> types;
  std::vector<const Tensor*> constants;
  for (ValueId operand : node.operands) {
    types.push_back(operand == kNone ? nullptr : &value(operand).type);
    constants.push_back(constant(operand));
  }
  return infer_results(*node.op, types, constants, node.attributes, node.subgraphs);
}

void Graph::number_unbacked_after(int count) { unbacked_symbols_ = std::max(unbacked_symbols_, count); }

// Symbols of the form _7 that came with a type are not unbacked again.
void Graph::note_symbols(const TensorType& type) {
  std::vector<std::string> names;
  for (const Dim& dim : type.shape) dim.collect_symbols(names);
  for (const std::string& each : names)
    if (const int number = unbacked_number(each); number > 0) number_unbacked_after(number);
}

// A size that stays unknown keeps the symbol it had.
void Graph::name_unknown(TensorType& type, const TensorType* previous) {
  const bool keeps = previous && previous->rank() == type.rank();
  for (size_t i = 0; i < type.shape.size(); ++i) {
    if (!type.shape[i].is_unknown()) continue;
    if (keeps && previous->shape[i].is_symbol()) type.shape[i] = previous->shape[i];
    else type.shape[i] = Dim::symbol("_" + std::to_string(++unbacked_symbols_));
  }
}

NodeId Graph::add_node(const OpDef& op, std::vector<ValueId> operands, Attributes attributes, std::string result_name,
                       std::vector<Graph> subgraphs) {
  for (ValueId operand : operands)
    CHECK(operand == kNone || value(operand).live, "operand {} of {} is erased", operand, op.name);
  Node node{
      .op = &op, .operands = std::move(operands), .results = {}, .attributes = {}, .subgraphs = std::move(subgraphs)};
  try {
    node.attributes = normalised(op, std::move(attributes));
  } catch (const Error& error) {
    fail("{}: {}", op.name, error.what());
  }
  for (const Graph& body : node.subgraphs) number_unbacked_after(body.unbacked_symbols());
  std::vector<TensorType> types = infer(node);
  for (TensorType& type : types) name_unknown(type, nullptr);
  const auto id = static_cast<NodeId>(nodes_.size());
  for (size_t i = 0; i < types.size(); ++i) {
    Value value{.type = types[i], .name = {}, .label = {}, .node = id, .result = static_cast<int>(i), .constant = {}};
    node.results.push_back(add_value(std::move(value), result_name.empty() ? op.name : result_name));
  }
  nodes_.push_back(std::move(node));
  for (ValueId operand : nodes_.back().operands) add_reader(operand, id);
  const auto before = insertion_point_ == kNone ? order_.end() : find_in_order(order_, insertion_point_);
  order_.insert(before, id);
  return id;
}

ValueId Graph::emit(const OpDef& op, std::vector<ValueId> operands, Attributes attributes, std::string result_name) {
  const NodeId id = add_node(op, std::move(operands), std::move(attributes), std::move(result_name));
  CHECK(node(id).results.size() == 1, "{} has {} results", op.name, node(id).results.size());
  return result(id);
}

NodeId Graph::add_node(Call call, std::string result_name) {
  return add_node(*call.op, std::move(call.operands), std::move(call.attributes), std::move(result_name),
                  std::move(call.subgraphs));
}

std::vector<ValueId> Graph::emit_all(Call call, std::string result_name) {
  return node(add_node(std::move(call), std::move(result_name))).results;
}

ValueId Graph::emit(Call call, std::string result_name) {
  const std::vector<ValueId> results = emit_all(std::move(call), std::move(result_name));
  CHECK(results.size() == 1, "an op of {} results", results.size());
  return results[0];
}

void Graph::add_output(ValueId id, std::string label) {
  CHECK(value(id).live);
  if (!output_labels_.insert(label).second) fail("graph {} already has an output \"{}\"", name, label);
  ++readers(id).outputs;
  outputs_.insert(outputs_.begin() + static_cast<ptrdiff_t>(returned()), {id, std::move(label)});
}

void Graph::add_update(ValueId target, ValueId updated) {
  CHECK(value(target).live && value(updated).live);
  const Value& held = value(target);
  if (held.kind != ValueKind::input || held.role == InputRole::argument)
    fail("%{} is no parameter or state, so it has no value after a run", held.name);
  if (held.type != type(updated))
    fail("{} %{} is {}; %{} is {}", to_string(held.role), held.name, to_string(held.type), value(updated).name,
         to_string(type(updated)));
  if (update_of(target) != kNone) fail("{} %{} is updated twice", to_string(held.role), held.name);
  ++readers(updated).outputs;
  outputs_.push_back({updated, "update of " + held.label, target});
}

size_t Graph::returned() const {
  return static_cast<size_t>(
      std::ranges::count_if(outputs_, [](const Output& output) { return output.updates == kNone; }));
}

ValueId Graph::update_of(ValueId input) const {
  for (const Output& output : outputs_)
    if (output.updates == input) return output.value;
  return kNone;
}

std::vector<ValueId> Graph::arguments() const {
  std::vector<ValueId> found;
  for (ValueId id : inputs_)
    if (value(id).role == InputRole::argument) found.push_back(id);
  return found;
}

std::string_view to_string(InputRole role) {
  constexpr std::string_view kNames[] = {"input", "parameter", "state"};
  return kNames[static_cast<size_t>(role)];
}

void Graph::set_insertion_point(NodeId before) {
  CHECK(before == kNone || node(before).live, "insertion point {} is erased", before);
  insertion_point_ = before;
}

std::vector<NodeId> Graph::nodes(const OpDef& op) const {
  std::vector<NodeId> found;
  for (NodeId id : order_)
    if (node(id).op == &op) found.push_back(id);
  return found;
}

std::vector<NodeId> Graph::nodes(std::string_view op_name) const {
  std::vector<NodeId> found;
  for (NodeId id : order_)
    if (op_name == node(id).op->name) found.push_back(id);
  return found;
}

const Node& Graph::node(NodeId id) const {
  CHECK(id >= 0 && static_cast<size_t>(id) < nodes_.size(), "no node {}", id);
  return nodes_[static_cast<size_t>(id)];
}

const Value& Graph::value(ValueId id) const {
  CHECK(id >= 0 && static_cast<size_t>(id) < values_.size(), "no value {}", id);
  return values_[static_cast<size_t>(id)];
}

const Tensor* Graph::constant(ValueId id) const {
  if (id == kNone || !value(id).constant) return nullptr;
  return &*value(id).constant;
}

const OpDef* Graph::producer_op(ValueId id) const {
  return id == kNone || producer(id) == kNone ? nullptr : node(producer(id)).op;
}

std::vector<ValueId> Graph::constants() const {
  std::vector<ValueId> found;
  for (size_t i = 0; i < values_.size(); ++i)
    if (values_[i].live && values_[i].kind == ValueKind::constant) found.push_back(static_cast<ValueId>(i));
  return found;
}

std::vector<Graph::Use> Graph::uses(ValueId id) const {
  CHECK(id >= 0 && static_cast<size_t>(id) < readers_.size(), "no value {}", id);
  std::vector<NodeId> nodes = readers_[static_cast<size_t>(id)].nodes;
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  std::vector<Use> found;
  for (NodeId user : nodes) {
    if (!node(user).live) continue;
    const std::vector<ValueId>& operands = node(user).operands;
    for (size_t i = 0; i < operands.size(); ++i)
      if (operands[i] == id) found.push_back({user, static_cast<int>(i)});
  }
  return found;
}

int Graph::use_count(ValueId id) const {
  CHECK(id >= 0 && static_cast<size_t>(id) < readers_.size(), "no value {}", id);
  const Readers& known = readers_[static_cast<size_t>(id)];
  return known.operands + known.outputs;
}

std::vector<std::vector<Graph::Use>> Graph::all_uses() const {
  std::vector<std::vector<Use>> found(values_.size());
  for (NodeId user : order_) {
    const std::vector<ValueId>& operands = node(user).operands;
    for (size_t i = 0; i < operands.size(); ++i)
      if (operands[i] != kNone) found[static_cast<size_t>(operands[i])].push_back({user, static_cast<int>(i)});
  }
  return found;
}

ValueId Graph::find_value(std::string_view name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? kNone : found->second;
}

ValueId Graph::find_constant(std::string_view label) const {
  for (size_t i = 0; i < values_.size(); ++i)
    if (values_[i].live && values_[i].kind == ValueKind::constant && values_[i].label == label)
      return static_cast<ValueId>(i);
  return kNone;
}

std::vector<std::string> Graph::symbols() const {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (ValueId input : inputs_) {
    std::vector<std::string> own;
    for (const Dim& dim : type(input).shape) dim.collect_symbols(own);
    for (std::string& each : own)
      if (seen.insert(each).second) names.push_back(std::move(each));
  }
  return names;
}

}  // namespace hone
