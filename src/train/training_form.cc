#include "train/training_form.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>

#include <fmt/format.h>

#include "ir/bodies.h"
#include "ir/unbacked.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/barrier.h"
#include "ops/calls/cast.h"
#include "ops/calls/linear.h"
#include "ops/calls/matmul.h"
#include "ops/calls/reshape.h"
#include "ops/calls/transpose.h"
#include "ops/evaluate.h"
#include "passes/match.h"
#include "passes/permutation.h"
#include "passes/pipelines.h"
#include "train/merged_weights.h"
#include "train/parameters.h"

namespace hone {
namespace {

using Extents = std::vector<int64_t>;

// Whether passes are kept from its value. Numbers of formulas stay visible, and so does what says what an op does.
bool is_kept(const Graph& graph, const StoredTensor& tensor) {
  return tensor.role != ParameterRole::none && !graph.type(tensor.id).is_packed() && !is_literal(tensor);
}

bool has_input(const Graph& graph, const std::string& label) {
  return std::ranges::any_of(graph.inputs(), [&](ValueId input) { return graph.value(input).label == label; });
}

// --- bodies ----------------------------------------------------------------------------------------------------------

// The constant of that name and value, which is added where there is none. Another of that name gives it a further one.
ValueId constant_called(Graph& graph, const std::string& wanted, const Tensor& value) {
  std::string label = wanted;
  for (int i = 2;; ++i) {
    const ValueId found = graph.find_constant(label);
    if (found == kNone) return graph.add_constant(label, value);
    if (graph.constant(found)->same_bits(value)) return found;
    label = fmt::format("{}.{}", wanted, i);
  }
}

// The body's tensors become inputs of it: gives them, in their order.
std::vector<Value> taken_from(Graph& body) {
  std::vector<Value> taken;
  for (const StoredTensor& tensor : stored_tensors(body)) {
    if (!is_kept(body, tensor)) continue;
    taken.push_back(body.value(tensor.id));
    std::string label = tensor.name;
    for (int i = 2; has_input(body, label); ++i) label = fmt::format("{}.{}", tensor.name, i);
    body.replace_all_uses(tensor.id, body.add_input(label, body.type(tensor.id)));
  }
  body.erase_unused_constants();
  return taken;
}

// The node with its bodies' tensors captured from around it.
Call capturing(Graph& graph, NodeId id) {
  Node node = graph.node(id);
  Call call{node.op, node.operands, node.attributes, std::move(node.subgraphs)};
  const auto of_first = call.attributes.get_or<int64_t>("then_captures", 0);
  for (size_t b = 0; b < call.subgraphs.size(); ++b) {
    std::vector<ValueId> captured;
    for (const Value& value : taken_from(call.subgraphs[b]))
      captured.push_back(constant_called(graph, value.label, *value.constant));
    const bool is_first_of_two = call.subgraphs.size() == 2 && b == 0;
    const auto place = is_first_of_two ? call.operands.begin() + 1 + of_first : call.operands.end();
    call.operands.insert(place, captured.begin(), captured.end());
    if (is_first_of_two) call.attributes.set("then_captures", of_first + std::ssize(captured));
  }
  return call;
}

// Tensors that bodies have as constants become constants around them, which the bodies capture. Results whose sizes
// depend on data have these from their node, which stays what it is.
Graph with_weights_outside(Graph graph) {
  edit_bodies(graph, with_weights_outside);
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  for (NodeId id : nodes) {
    const Node& node = graph.node(id);
    if (node.subgraphs.empty()) continue;
    const auto is_open = [&](ValueId v) { return graph.type(v).ranked && depends_on_data(graph.type(v).shape); };
    if (std::ranges::any_of(node.results, is_open)) continue;
    Call call = capturing(graph, id);
    if (call.operands.size() != node.operands.size()) replace_node(graph, id, std::move(call));
  }
  return graph;
}

// --- layouts ---------------------------------------------------------------------------------------------------------

// What the node does to the stored tensor that it alone reads; none for what is no move of a whole tensor.
std::optional<Relaid::Step> step_at(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const TensorType &from = graph.type(node.operands[0]), &to = graph.type(node.results[0]);
  if (is_permutation(graph, id)) return permutation_of(graph, id);
  if (node.op->view && node.op != &barrier_def && to.is_static())
    return Relaid::Reshaped{constant_shape(from.shape), constant_shape(to.shape)};
  if (node.op == &cast_def && is_float(from.dtype) && to.dtype == DType::f32) return from.dtype;
  return std::nullopt;
}

Tensor transposed(const Tensor& tensor, const Permutation& perm) {
  const Tensor* const operand = &tensor;
  return evaluate_node(transpose_def, {&operand, 1}, {{"perm", perm}})[0];
}

Tensor after(const Relaid::Step& step, const Tensor& tensor) {
  if (const auto* perm = std::get_if<Permutation>(&step)) return transposed(tensor, *perm);
  if (const auto* shapes = std::get_if<Relaid::Reshaped>(&step)) return tensor.reshaped(shapes->to);
  return tensor.converted(DType::f32);
}

Relaid as_it_lies(const Graph& graph, ValueId id) {
  const Tensor& tensor = *graph.constant(id);
  return {.name = graph.value(id).label, .stored = tensor.shape(), .type = tensor.dtype(), .steps = {}};
}

// Moves that are all that is read of a tensor become part of it.
Relaid lay_as_read(Graph& graph, ValueId id) {
  Relaid relaid = as_it_lies(graph, id);
  for (;;) {
    const std::vector<Graph::Use> uses = graph.uses(id);
    if (uses.size() != 1 || graph.use_count(id) != 1) return relaid;
    const std::optional<Relaid::Step> step = step_at(graph, uses[0].node);
    if (!step) return relaid;
    graph.set_constant(id, after(*step, *graph.constant(id)));
    replace_by_value(graph, uses[0].node, id);
    relaid.steps.push_back(*step);
  }
}

// The shape that a tensor of this one had before: where it is of another size, all of it lies along the one axis that
// is not 1.
std::optional<Extents> shape_before(const Relaid::Reshaped& shapes, const Extents& now) {
  if (now == shapes.to) return shapes.from;
  const auto is_long = [](int64_t size) { return size != 1; };
  if (std::ranges::count_if(shapes.from, is_long) != 1) return std::nullopt;
  Extents before = shapes.from;
  *std::ranges::find_if(before, is_long) = element_count(now);
  return before;
}

std::optional<Tensor> before(const Relaid::Step& step, const Tensor& tensor) {
  if (const auto* perm = std::get_if<Permutation>(&step)) {
    if (perm->size() != tensor.shape().size()) return std::nullopt;
    return transposed(tensor, inverse(*perm));
  }
  if (const auto* shapes = std::get_if<Relaid::Reshaped>(&step)) {
    const std::optional<Extents> shape = shape_before(*shapes, tensor.shape());
    if (!shape) return std::nullopt;
    return tensor.reshaped(*shape);
  }
  return tensor.converted(std::get<DType>(step));
}

// The nodes of the steps from the stored tensor on, before all others.
ValueId moved(Graph& graph, ValueId stored, std::span<const Relaid::Step> steps) {
  graph.set_insertion_point(graph.nodes().empty() ? kNone : graph.nodes().front());
  ValueId value = stored;
  for (const Relaid::Step& step : steps) {
    if (const auto* perm = std::get_if<Permutation>(&step)) value = ops::transpose(graph, {.x = value, .perm = *perm});
    else if (const auto* shapes = std::get_if<Relaid::Reshaped>(&step)) {
      Shape to = to_shape(shapes->to);
      if (element_count(graph.type(value).shape) != element_count(to))
        to = Shape{element_count(graph.type(value).shape)};
      value = ops::reshape(graph, {.x = value, .shape = to});
    } else if (graph.type(value).dtype != DType::f32) {
      value = ops::cast(graph, {.x = value, .dtype = DType::f32});
    }
  }
  graph.set_insertion_point(kNone);
  return value;
}

// Of a stored [K,N] that linear has as [N,K]: what makes more bits of it. None: it is no such matrix.
std::optional<std::vector<Relaid::Step>> steps_to_product(const Relaid& relaid) {
  std::vector<Relaid::Step> widening;
  std::vector<Permutation> orders;
  for (const Relaid::Step& step : relaid.steps) {
    if (std::holds_alternative<Relaid::Reshaped>(step)) return std::nullopt;
    if (const auto* perm = std::get_if<Permutation>(&step)) orders.push_back(*perm);
    else widening.push_back(step);
  }
  if (orders.size() != 1 || orders[0] != Permutation{1, 0}) return std::nullopt;
  return widening;
}

// linear by the transpose of a stored [K,N] as the matmul and addition that it was.
void write_products(Graph& graph, ValueId relaid, ValueId stored, std::span<const Relaid::Step> widening) {
  ValueId factor = kNone;
  for (const Graph::Use& use : graph.uses(relaid)) {
    const Node node = graph.node(use.node);
    if (node.op != &linear_def || use.operand != 1 || node.operands[0] == relaid) continue;
    if (factor == kNone) factor = moved(graph, stored, widening);
    const bool has_bias = node.operands.size() > 2 && node.operands[2] != kNone;
    if (!has_bias) {
      replace_node(graph, use.node, ops::Matmul{.a = node.operands[0], .b = factor});
      continue;
    }
    graph.set_insertion_point(use.node);
    const ValueId product = ops::matmul(graph, {.a = node.operands[0], .b = factor});
    graph.set_insertion_point(kNone);
    replace_node(graph, use.node, ops::Add{.a = product, .b = node.operands[2]});
  }
}

void put_back(Graph& graph, const Relaid& relaid) {
  const ValueId id = graph.find_constant(relaid.name);
  if (id == kNone || graph.type(id).is_packed()) return;
  std::optional<Tensor> stored = *graph.constant(id);
  for (auto step = relaid.steps.rbegin(); stored && step != relaid.steps.rend(); ++step)
    stored = before(*step, *stored);
  if (!stored) return;
  if (stored->dtype() != relaid.type) stored = stored->converted(relaid.type);
  if (relaid.steps.empty()) return graph.set_constant(id, *std::move(stored));
  graph.set_label(id, "");
  const ValueId as_stored = graph.add_constant(relaid.name, *std::move(stored));
  if (const auto widening = steps_to_product(relaid)) write_products(graph, id, as_stored, *widening);
  if (graph.use_count(id) > 0) graph.replace_all_uses(id, moved(graph, as_stored, relaid.steps));
}

// Whether ops compute in the type that the constant has: as f32 it would change types of results, or be read in a body.
bool decides_types(Graph& graph, ValueId id) {
  const Tensor stored = *graph.constant(id);
  const std::vector<Graph::Use> uses = graph.uses(id);
  if (std::ranges::any_of(uses, [&](const auto& use) { return !graph.node(use.node).subgraphs.empty(); })) return true;
  const auto types_with = [&](const Tensor& value) {
    graph.set_constant(id, value);
    std::vector<DType> types;
    for (const Graph::Use& use : uses) {
      graph.reinfer(use.node);
      for (ValueId result : graph.node(use.node).results) types.push_back(graph.type(result).dtype);
    }
    return types;
  };
  const std::vector<DType> of_floats = types_with(stored.converted(DType::f32));
  return types_with(stored) != of_floats;
}

}  // namespace

TrainingForm training_form(Graph model) {
  TrainingForm form{
      .graph = with_merged_weights_apart(with_weights_outside(std::move(model))), .relaid = {}, .others = {}};
  Graph& graph = form.graph;
  form.others = stored_codes(graph);
  const std::vector<StoredTensor> in_bodies = tensors_in_bodies(graph);
  std::set<std::string> stored, kept, follow;  // these are statistics of batch norms
  for (const StoredTensor& tensor : stored_tensors(graph)) {
    stored.insert(tensor.name);
    if (is_statistic(tensor)) follow.insert(tensor.name);
    if (is_kept(graph, tensor) && !has_input(graph, tensor.name) && kept.insert(tensor.name).second)
      graph.make_parameter(tensor.id);
  }
  graph = canonicalise_parameters(std::move(graph));
  const std::vector<ValueId> inputs(graph.inputs().begin(), graph.inputs().end());
  for (ValueId input : inputs)
    if (kept.contains(graph.value(input).label)) graph.make_constant(input);
  graph.erase_unused_constants();
  std::erase_if(form.others, [&](const StoredTensor& tensor) {  // packed, which says as much
    const ValueId id = graph.find_constant(tensor.name);
    return id != kNone && graph.type(id).is_packed();
  });
  form.others.insert(form.others.end(), in_bodies.begin(), in_bodies.end());
  for (ValueId id : graph.constants()) {
    const Value& value = graph.value(id);
    const bool is_plain = is_float(value.type.dtype) && !value.type.is_packed();
    // What was computed from integers, say, is no tensor of the file.
    if (is_plain && !value.label.empty() && !stored.contains(value.label)) graph.set_label(id, "");
    const bool is_kept = kept.contains(value.label);
    if (!is_plain || (!is_kept && !follow.contains(value.label))) continue;
    Relaid relaid = is_kept ? lay_as_read(graph, id) : as_it_lies(graph, id);
    if (graph.type(id).dtype != DType::f32 && decides_types(graph, id)) {
      form.computed_in_own_type.push_back(relaid.name);
      relaid.type = DType::f32;
    }
    if (!relaid.steps.empty() || relaid.type != DType::f32) form.relaid.push_back(std::move(relaid));
  }
  graph.compact();
  return form;
}

Graph canonicalise_for_training(Graph model) { return training_form(std::move(model)).graph; }

Graph in_stored_form(Graph graph, const std::vector<Relaid>& relaid) {
  for (const Relaid& each : relaid) put_back(graph, each);
  graph.erase_unused_constants();
  graph.reinfer();
  graph.compact();
  return graph;
}

Tensor rounded_as_stored(const std::vector<Relaid>& relaid, const std::string& name, const Tensor& value) {
  const auto found = std::ranges::find(relaid, name, &Relaid::name);
  return found == relaid.end() ? value : value.converted(found->type).converted(value.dtype());
}

Extents stored_shape(const std::vector<Relaid>& relaid, const std::string& name, const Extents& own) {
  const auto found = std::ranges::find(relaid, name, &Relaid::name);
  return found == relaid.end() ? own : found->stored;
}

}  // namespace hone
