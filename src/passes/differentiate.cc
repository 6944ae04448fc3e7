#include "passes/differentiate.h"

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "gradients/gradient.h"
#include "ops/calls.h"
#include "passes/pass.h"

namespace hone {
namespace {

bool is_differentiable(const TensorType& type) {
  return is_float(type.dtype) && !type.is_packed() && type.container == Container::none;
}

size_t index(ValueId id) { return static_cast<size_t>(id); }

// By value: whether it is one of `by` or is computed from one.
std::vector<char> dependents(const Graph& graph, std::span<const ValueId> by) {
  std::vector<char> depends(graph.value_capacity(), 0);
  for (ValueId id : by) depends[index(id)] = 1;
  for (NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (std::ranges::any_of(node.operands, [&](ValueId v) { return v != kNone && depends[index(v)]; }))
      for (ValueId result : node.results) depends[index(result)] = 1;
  }
  return depends;
}

// The operands through which gradients go on.
class Wanted {
 public:
  Wanted(const Graph& graph, const Node& node, const std::vector<char>& depends)
      : flags_(std::make_unique<bool[]>(node.operands.size())), count_(node.operands.size()) {
    for (size_t i = 0; i < count_; ++i) {
      const ValueId v = node.operands[i];
      flags_[i] = v != kNone && depends[index(v)] && is_float(graph.type(v).dtype);
      any_ |= flags_[i];
    }
  }
  bool any() const { return any_; }
  bool operator[](size_t i) const { return flags_[i]; }
  std::span<const bool> view() const { return {flags_.get(), count_}; }

 private:
  std::unique_ptr<bool[]> flags_;  // an array, because spans of bool can't view a vector<bool>
  size_t count_;
  bool any_ = false;
};

std::vector<ValueId> gradients_at(Graph& graph, NodeId id, std::span<const ValueId> d_results, const Wanted& wanted) {
  const std::vector<ValueId>& operands = graph.node(id).operands;
  for (size_t i = 0; i < operands.size(); ++i)
    if (wanted[i] && graph.type(operands[i]).is_packed())
      fail("{} reads %{}, packed while it runs, through which there is no gradient; fake_quant has one",
           graph.node(id).op->name, graph.value(operands[i]).name);
  return gradients_of({graph, id, d_results, wanted.view()});
}

class Differentiation {
 public:
  Differentiation(Graph& graph, std::span<const ValueId> by)
      : graph_(graph), depends_(dependents(graph, by)), gradients_(graph.value_capacity(), kNone) {}

  void run(ValueId loss) {
    const TensorType& type = graph_.type(loss);
    const std::vector<NodeId> nodes(graph_.nodes().begin(), graph_.nodes().end());
    add(loss, ops::full(graph_, {.shape = type.shape, .value = 1.0, .dtype = gradient_dtype(type.dtype)}));
    for (size_t i = nodes.size(); i-- > 0;) visit(nodes[i]);
  }

  ValueId gradient(ValueId id) {
    if (gradients_[index(id)] != kNone) return gradients_[index(id)];
    const TensorType& type = graph_.type(id);
    return zeros(graph_, gradient_dtype(type.dtype), type.shape);
  }

 private:
  void add(ValueId id, ValueId gradient) {
    ValueId& sum = gradients_[index(id)];
    sum = sum == kNone ? gradient : ops::add(graph_, {sum, gradient});
  }

  void visit(NodeId id) {
    const std::vector<ValueId> operands = graph_.node(id).operands, results = graph_.node(id).results;
    std::vector<ValueId> d_results;
    for (ValueId result : results) d_results.push_back(gradients_[index(result)]);
    if (std::ranges::all_of(d_results, [](ValueId d) { return d == kNone; })) return;
    const Wanted wanted(graph_, graph_.node(id), depends_);
    if (!wanted.any()) return;
    try {
      const std::vector<ValueId> gradients = gradients_at(graph_, id, d_results, wanted);
      for (size_t i = 0; i < gradients.size(); ++i)
        if (wanted[i] && gradients[i] != kNone) add(operands[i], gradients[i]);
    } catch (const Error& e) {
      fail("%{}: {}", graph_.value(results[0]).name, e.what());
    }
  }

  Graph& graph_;
  std::vector<char> depends_;
  std::vector<ValueId> gradients_;  // by value of the graph as it was
};

constexpr OptionField<DifferentiateOptions> kFields[] = {
    {"loss", "the output that is differentiated; default: the only one", &DifferentiateOptions::loss}};

std::vector<std::string> result_labels(const Graph& graph) {
  std::vector<std::string> labels;
  for (const Output& output : graph.outputs())
    if (output.updates == kNone) labels.push_back(output.label);
  return labels;
}

ValueId loss_of(const Graph& graph, const std::string& label) {
  const std::vector<std::string> labels = result_labels(graph);
  if (label.empty() && labels.size() != 1)
    fail("which of {} outputs is the loss? Give the option loss; outputs: {}", labels.size(), fmt::join(labels, ", "));
  const std::string& wanted = label.empty() ? labels[0] : label;
  for (const Output& output : graph.outputs())
    if (output.updates == kNone && output.label == wanted) return output.value;
  fail("no output \"{}\" to be the loss; outputs: {}{}", wanted, fmt::join(labels, ", "), did_you_mean(wanted, labels));
}

Graph add_gradients(Graph graph, const PassContext&, const DifferentiateOptions& options) {
  const std::vector<ValueId> parameters = trainable_parameters(graph);
  if (parameters.empty())
    fail(
        "a model without trainable parameters: none of its inputs is a `param` of plain floats. In C++, "
        "Graph::make_parameter makes one of a constant");
  const std::vector<ValueId> gradients = differentiate(graph, loss_of(graph, options.loss), parameters);
  for (size_t i = 0; i < parameters.size(); ++i)
    graph.add_output(gradients[i], "gradient of " + graph.value(parameters[i]).label);
  return graph;
}

}  // namespace

std::span<const OptionField<DifferentiateOptions>> DifferentiateOptions::fields() { return kFields; }

std::vector<ValueId> trainable_parameters(const Graph& graph) {
  std::vector<ValueId> parameters;
  for (ValueId id : graph.inputs())
    if (graph.value(id).role == InputRole::parameter && is_differentiable(graph.type(id))) parameters.push_back(id);
  return parameters;
}

std::vector<ValueId> differentiate(Graph& graph, ValueId loss, std::span<const ValueId> by) {
  const TensorType& type = graph.type(loss);
  if (!is_differentiable(type) || !type.ranked || element_count(type.shape) != Dim(1))
    fail("the loss %{} is {}; accepted: one float. Reduce it, by reduce_mean, say", graph.value(loss).name,
         to_string(type));
  for (ValueId id : by)
    if (!is_differentiable(graph.type(id)) || !graph.type(id).ranked)
      fail("%{} is {}, by which nothing is differentiated; accepted: plain floats of known rank", graph.value(id).name,
           to_string(graph.type(id)));
  Differentiation differentiation(graph, by);
  differentiation.run(loss);
  std::vector<ValueId> gradients;
  for (ValueId id : by) gradients.push_back(differentiation.gradient(id));
  return gradients;
}

// The rules are tried, on a copy, with inputs as gradients of results.
Trainability trainability(const Graph& graph, std::span<const ValueId> by) {
  Graph trial = graph;
  const std::vector<char> depends = dependents(graph, by);
  std::vector<char> needed(graph.value_capacity(), 0);
  for (const Output& output : graph.outputs()) needed[index(output.value)] = is_float(graph.type(output.value).dtype);
  Trainability found;
  const std::span<const NodeId> nodes = graph.nodes();
  for (size_t n = nodes.size(); n-- > 0;) {
    const Node& node = graph.node(nodes[n]);
    std::vector<ValueId> d_results;
    for (ValueId v : node.results) {
      TensorType type = graph.type(v);
      type.dtype = gradient_dtype(type.dtype);
      d_results.push_back(needed[index(v)] ? trial.add_input(fmt::format("gradient of value {}", v), type) : kNone);
    }
    const Wanted wanted(graph, node, depends);
    if (!wanted.any() || std::ranges::all_of(d_results, [](ValueId d) { return d == kNone; })) continue;
    try {
      gradients_at(trial, nodes[n], d_results, wanted);
    } catch (const Error& e) {
      found.obstacles.push_back({nodes[n], e.what()});
    }
    for (size_t i = 0; i < node.operands.size(); ++i)
      if (wanted[i]) needed[index(node.operands[i])] = 1;
  }
  std::ranges::reverse(found.obstacles);
  std::ranges::copy_if(by, std::back_inserter(found.reached), [&](ValueId v) { return needed[index(v)] != 0; });
  return found;
}

extern constinit const PassDef differentiate_def{
    .name = "differentiate",
    .doc =
        "Adds an output \"gradient of W\" for each trainable parameter W: the gradient of the loss, an output of one "
        "float.",
    .run = with_options<add_gradients>};

}  // namespace hone
