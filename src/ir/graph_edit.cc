#include <algorithm>
#include <utility>

#include "base/error.h"
#include "ir/decided_sizes.h"
#include "ir/graph.h"
#include "ir/node_order.h"
#include "ir/node_rules.h"
#include "ir/text.h"

namespace hone {

std::string Graph::users_text(ValueId id) const {
  std::string text;
  for (const Use& use : uses(id)) text += "\n  " + print_node(*this, use.node);
  for (const Output& output : outputs_)
    if (output.value == id && output.updates != kNone)
      text += fmt::format("\n  update %{} = %{}", value(output.updates).name, value(id).name);
    else if (output.value == id) text += fmt::format("\n  return %{} as \"{}\"", value(id).name, output.label);
  return text;
}

void Graph::replace_all_uses(ValueId old_value, ValueId new_value) {
  CHECK(value(new_value).live && old_value != new_value);
  for (NodeId id : std::exchange(readers(old_value).nodes, {}))
    if (nodes_[static_cast<size_t>(id)].live)
      for (ValueId& operand : nodes_[static_cast<size_t>(id)].operands)
        if (operand == old_value) operand = new_value, add_reader(new_value, id);
  readers(old_value).operands = 0;
  if (readers(old_value).outputs == 0) return;
  for (Output& output : outputs_)
    if (output.value == old_value) output.value = new_value;
  readers(new_value).outputs += std::exchange(readers(old_value).outputs, 0);
}

void Graph::set_operand(NodeId id, int i, ValueId operand) {
  CHECK(node(id).live && (operand == kNone || value(operand).live));
  const ValueId before = std::exchange(nodes_[static_cast<size_t>(id)].operands.at(static_cast<size_t>(i)), operand);
  add_reader(operand, id);
  drop_reader(before);
}

void Graph::set_attribute(NodeId id, const std::string& attribute, Attribute value) {
  CHECK(node(id).live);
  nodes_[static_cast<size_t>(id)].attributes.set(attribute, std::move(value));
}

void Graph::set_subgraphs(NodeId id, std::vector<Graph> bodies) {
  CHECK(node(id).live);
  nodes_[static_cast<size_t>(id)].subgraphs = std::move(bodies);
}

void Graph::set_constant(ValueId id, Tensor tensor) {
  CHECK(value(id).kind == ValueKind::constant && value(id).live);
  Value& changed = values_[static_cast<size_t>(id)];
  changed.type = tensor.type();
  changed.constant = std::move(tensor);
}

void Graph::set_input_type(ValueId id, TensorType type) {
  CHECK(value(id).kind == ValueKind::input && value(id).live);
  expect_addressable(type);
  note_symbols(type);
  values_[static_cast<size_t>(id)].type = std::move(type);
}

void Graph::set_initial(ValueId id, Tensor initial) {
  Value& held = values_[static_cast<size_t>(id)];
  CHECK(held.kind == ValueKind::input && held.live && held.role != InputRole::argument);
  if (!fits(initial, held.type))
    fail("{} \"{}\" is {}, and can't begin as {}", to_string(held.role), held.label, to_string(held.type),
         to_string(initial.type()));
  held.initial = std::move(initial);
}

void Graph::make_parameter(ValueId id) {
  CHECK(value(id).kind == ValueKind::constant && value(id).live);
  Value& made = values_[static_cast<size_t>(id)];
  if (made.label.empty()) fail("constant %{} has no name, by which a parameter is known", made.name);
  if (!input_labels_.insert(made.label).second) fail("graph {} already has an input \"{}\"", name, made.label);
  made.kind = ValueKind::input, made.role = InputRole::parameter;
  made.initial = std::move(made.constant);
  made.constant.reset();
  inputs_.push_back(id);
}

void Graph::make_constant(ValueId id) {
  Value& made = values_[static_cast<size_t>(id)];
  CHECK(made.kind == ValueKind::input && made.role == InputRole::parameter && made.live);
  if (update_of(id) != kNone) fail("parameter \"{}\" is updated by the graph, which no constant is", made.label);
  made.kind = ValueKind::constant, made.role = InputRole::argument;
  made.constant = std::move(made.initial);
  made.initial.reset();
  input_labels_.erase(made.label);
  std::erase(inputs_, id);
}

void Graph::refine_type(ValueId id, const TensorType& type) {
  Value& refined = values_[static_cast<size_t>(id)];
  CHECK(refined.kind == ValueKind::result && refined.live);
  if (!may_be_same(refined.type, type))
    fail("%{} is {}, which can't be {}", refined.name, to_string(refined.type), to_string(type));
  expect_addressable(type);
  note_symbols(type);
  if (type.ranked) refined.type = type;
}

void Graph::rename(ValueId id, std::string wanted) {
  CHECK(value(id).live);
  Value& renamed = values_[static_cast<size_t>(id)];
  names_.erase(renamed.name);
  renamed.name = unique_name(wanted);
  names_[renamed.name] = id;
}

void Graph::set_label(ValueId id, std::string label) {
  CHECK(value(id).live);
  Value& labelled = values_[static_cast<size_t>(id)];
  if (labelled.kind == ValueKind::input) {
    input_labels_.erase(labelled.label);
    input_labels_.insert(label);
  }
  labelled.label = std::move(label);
}

void Graph::erase(NodeId id) {
  CHECK(node(id).live, "node {} is erased twice", id);
  Node& erased = nodes_[static_cast<size_t>(id)];
  for (ValueId result : erased.results)
    if (use_count(result) > 0)
      fail("can't erase {}: %{} is used by{}", erased.op->name, value(result).name, users_text(result));
  for (ValueId result : erased.results) {
    names_.erase(value(result).name);
    values_[static_cast<size_t>(result)].live = false;
  }
  if (insertion_point_ == id) {
    const auto next = std::next(find_in_order(order_, id));
    insertion_point_ = next == order_.end() ? kNone : *next;
  }
  erased.live = false;
  for (ValueId operand : erased.operands) drop_reader(operand);
  drop_from_order(id);
}

void Graph::drop_from_order(NodeId id) { order_.erase(find_in_order(order_, id)); }

void Graph::erase_input(ValueId id) {
  CHECK(value(id).kind == ValueKind::input && value(id).live);
  if (use_count(id) > 0) fail("can't erase input \"{}\": it is used by{}", value(id).label, users_text(id));
  CHECK(update_of(id) == kNone, "input %{} is erased and updated", value(id).name);
  names_.erase(value(id).name);
  input_labels_.erase(value(id).label);
  values_[static_cast<size_t>(id)].live = false;
  std::erase(inputs_, id);
}

void Graph::erase_unused_constants() {
  std::vector<bool> used(values_.size(), false);
  for (NodeId id : order_)
    for (ValueId operand : node(id).operands)
      if (operand != kNone) used[static_cast<size_t>(operand)] = true;
  for (const Output& output : outputs_) used[static_cast<size_t>(output.value)] = true;
  for (ValueId id : constants()) {
    if (used[static_cast<size_t>(id)]) continue;
    Value& erased = values_[static_cast<size_t>(id)];
    names_.erase(erased.name);
    erased.constant.reset();
    erased.live = false;
  }
}

void Graph::set_outputs(std::vector<Output> outputs) {
  for (const Output& output : outputs_) --readers(output.value).outputs;
  outputs_.clear();
  output_labels_.clear();
  for (Output& output : outputs)
    if (output.updates == kNone) add_output(output.value, std::move(output.label));
    else add_update(output.updates, output.value);
}

void Graph::reinfer() {
  DecidedSizes decided;
  for (NodeId id : order_) {
    Node& inferred = nodes_[static_cast<size_t>(id)];
    if (!decided.empty() && is_symbolic(inferred.attributes))
      inferred.attributes = decided.substituted(inferred.attributes);
    std::vector<Shape> before;
    for (ValueId v : inferred.results) before.push_back(type(v).shape);
    reinfer(id);
    for (size_t i = 0; i < before.size(); ++i) decided.note(before[i], type(inferred.results[i]).shape);
  }
}

void Graph::reinfer(NodeId id) {
  const Node& inferred = node(id);
  std::vector<TensorType> types = infer(inferred);
  CHECK(types.size() == inferred.results.size());
  for (size_t i = 0; i < types.size(); ++i) {
    TensorType& type = values_[static_cast<size_t>(inferred.results[i])].type;
    name_unknown(types[i], &type);
    type = std::move(types[i]);
  }
}

void Graph::compact() {
  std::vector<ValueId> value_ids(values_.size(), kNone);
  std::deque<Value> values;
  std::vector<NodeId> node_ids(nodes_.size(), kNone);
  for (size_t i = 0; i < order_.size(); ++i) node_ids[static_cast<size_t>(order_[i])] = static_cast<NodeId>(i);
  auto renumber = [&](ValueId& id) { id = id == kNone ? kNone : value_ids[static_cast<size_t>(id)]; };

  for (size_t i = 0; i < values_.size(); ++i) {
    if (!values_[i].live) continue;
    value_ids[i] = static_cast<ValueId>(values.size());
    values.push_back(std::move(values_[i]));
    NodeId& producer = values.back().node;
    if (producer != kNone) producer = node_ids[static_cast<size_t>(producer)];
  }
  std::deque<Node> nodes;
  for (NodeId& id : order_) {
    nodes.push_back(std::move(nodes_[static_cast<size_t>(id)]));
    id = static_cast<NodeId>(nodes.size()) - 1;
    for (ValueId& operand : nodes.back().operands) renumber(operand);
    for (ValueId& result : nodes.back().results) renumber(result);
  }
  for (ValueId& input : inputs_) renumber(input);
  for (Output& output : outputs_) renumber(output.value), renumber(output.updates);
  for (auto& [name, id] : names_) renumber(id);
  if (insertion_point_ != kNone) insertion_point_ = node_ids[static_cast<size_t>(insertion_point_)];
  values_ = std::move(values);
  nodes_ = std::move(nodes);
  readers_.assign(values_.size(), {});
  for (NodeId id : order_)
    for (ValueId operand : node(id).operands) add_reader(operand, id);
  for (const Output& output : outputs_) ++readers(output.value).outputs;
}

}  // namespace hone
