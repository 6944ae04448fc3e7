#include "ops/evaluate.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "base/stop.h"
#include "base/text.h"
#include "ir/pointwise.h"
#include "ir/text.h"
#include "ops/elements.h"

namespace hone {
namespace {

void check_names(const Graph& graph, const std::map<std::string, Tensor>& inputs) {
  std::vector<std::string> labels;
  for (ValueId id : graph.inputs()) labels.push_back(graph.value(id).label);
  for (const auto& [name, tensor] : inputs)
    if (std::find(labels.begin(), labels.end(), name) == labels.end())
      fail("\"{}\" is not an input of the model; it takes {}{}", name,
           labels.empty() ? "none" : fmt::format("{}", fmt::join(labels, ", ")), did_you_mean(name, labels));
  std::vector<std::string> given;
  for (const auto& [name, tensor] : inputs) given.push_back(name);
  for (const std::string& label : labels)
    if (!inputs.contains(label))
      fail("input \"{}\" is missing; given: {}", label,
           given.empty() ? "none" : fmt::format("{}", fmt::join(given, ", ")));
}

std::vector<Tensor> run(const OpDef& op, const EvalArgs& args) {
  try {
    return op.eval ? op.eval(args) : eval_pointwise(op, args);
  } catch (const std::out_of_range&) {
    fail("{}: an operand holds fewer values than the op needs", op.name);
  }
}

// Values while a graph runs: constants and inputs stay, results go after their last use. A node whose result types are
// not known beforehand is inferred again from the tensors it gets.
class Evaluation {
 public:
  Evaluation(const Graph& graph, std::vector<Tensor> inputs, Bindings bindings)
      : graph_(graph),
        values_(graph.value_capacity()),
        uses_left_(graph.value_capacity()),
        bindings_(std::move(bindings)) {
    CHECK(inputs.size() == graph.inputs().size(), "{} inputs for {}", inputs.size(), graph.inputs().size());
    for (ValueId id : graph.constants()) at(id) = *graph.constant(id);
    for (NodeId n : graph.nodes())
      for (ValueId v : graph.node(n).operands)
        if (v != kNone) ++uses_left_[static_cast<size_t>(v)];
    for (const Output& output : graph.outputs()) ++uses_left_[static_cast<size_t>(output.value)];
    for (size_t i = 0; i < inputs.size(); ++i) {
      at(graph.inputs()[i]) = std::move(inputs[i]);
      bind(graph.inputs()[i]);
    }
  }

  void step(NodeId id, const AfterNode& after) {
    check_stop();
    const Node& node = graph_.node(id);
    std::vector<const Tensor*> operands;
    for (ValueId v : node.operands) operands.push_back(v == kNone ? nullptr : &at(v));
    std::vector<TensorType> types;
    bool known = node.subgraphs.empty();
    for (ValueId v : node.results) {
      types.push_back(graph_.type(v));
      known = known && types.back().is_static();
    }
    std::vector<Tensor> results;
    try {
      if (known) results = run(*node.op, {operands, node.attributes, types, &node.subgraphs, &bindings_});
      else if (is_symbolic(node.attributes))
        results = evaluate_node(*node.op, operands, substituted(node.attributes, bindings_), node.subgraphs, bindings_);
      else results = evaluate_node(*node.op, operands, node.attributes, node.subgraphs, bindings_);
    } catch (const Error& error) {
      fail("{}\n  in {}", error.what(), print_node(graph_, id));
    }
    CHECK(results.size() == node.results.size(), "{} gave {} results", node.op->name, results.size());
    if (after) after(id, results);
    for (size_t i = 0; i < results.size(); ++i) {
      at(node.results[i]) = std::move(results[i]);
      if (!known) bind(node.results[i]);
    }
    for (ValueId v : node.operands) release(v);
  }

  Tensor value(ValueId id) const { return values_[static_cast<size_t>(id)]; }

 private:
  Tensor& at(ValueId id) { return values_[static_cast<size_t>(id)]; }
  void release(ValueId id) {
    if (id != kNone && --uses_left_[static_cast<size_t>(id)] == 0) at(id) = Tensor();
  }

  // What a shape rule could not know is known now.
  void bind(ValueId id) {
    const TensorType& type = graph_.type(id);
    const Tensor& tensor = at(id);
    if (!type.ranked || type.rank() != tensor.shape().size()) return;
    for (size_t i = 0; i < type.rank(); ++i)
      if (type.shape[i].is_symbol()) bindings_[type.shape[i].to_string()] = tensor.shape()[i];
  }

  const Graph& graph_;
  std::vector<Tensor> values_;
  std::vector<int> uses_left_;
  Bindings bindings_;
};

}  // namespace

Bindings bind_inputs(const Graph& graph, const std::map<std::string, Tensor>& inputs) {
  check_names(graph, inputs);
  Bindings bindings;
  for (ValueId id : graph.inputs()) {
    const Value& input = graph.value(id);
    const Tensor& tensor = inputs.at(input.label);
    const std::string what = fmt::format("input \"{}\"", input.label);
    if (tensor.is_packed() || tensor.dtype() != input.type.dtype || tensor.container() != input.type.container)
      fail("{} is {}; the model takes {}", what, to_string(tensor.type()), to_string(input.type));
    if (input.type.ranked) bind_shape(input.type.shape, tensor.shape(), bindings, what);
  }
  return bindings;
}

std::vector<Tensor> evaluate(const Graph& graph, const std::map<std::string, Tensor>& inputs, const AfterNode& after) {
  const Bindings bindings = bind_inputs(graph, inputs);
  const Graph concrete = specialise(graph, bindings);
  std::vector<Tensor> values;
  for (ValueId id : concrete.inputs()) values.push_back(inputs.at(concrete.value(id).label));
  return evaluate_body(concrete, std::move(values), bindings, after);
}

std::vector<Tensor> evaluate_body(const Graph& graph, std::vector<Tensor> inputs, const Bindings& bindings,
                                  const AfterNode& after) {
  Evaluation evaluation(graph, std::move(inputs), bindings);
  for (NodeId id : graph.nodes()) evaluation.step(id, after);
  std::vector<Tensor> outputs;
  for (const Output& output : graph.outputs()) outputs.push_back(plain(evaluation.value(output.value)));
  return outputs;
}

std::vector<Tensor> evaluate_node(const OpDef& op, std::span<const Tensor* const> operands,
                                  const Attributes& attributes, const std::vector<Graph>& subgraphs,
                                  const Bindings& bindings) {
  std::vector<TensorType> types;
  for (const Tensor* operand : operands) types.push_back(operand ? operand->type() : TensorType{});
  std::vector<const TensorType*> type_pointers;
  for (size_t i = 0; i < operands.size(); ++i) type_pointers.push_back(operands[i] ? &types[i] : nullptr);
  const std::vector<TensorType> results = infer_results(op, type_pointers, operands, attributes, subgraphs);
  return run(op, {operands, attributes, results, &subgraphs, &bindings});
}

namespace {

// A product takes the reference evaluation about a second per 10^9 operations, generated code a hundredth of that.
bool quickly_evaluated(const OpDef& op, const InferArgs& args) {
  constexpr int64_t kMostFlops = 16 << 20;
  if (!op.flops) return true;
  const Dim flops = op.flops(args);
  return flops.is_constant() && flops.constant() <= kMostFlops;
}

}  // namespace

std::optional<std::vector<Tensor>> known_results(const Graph& graph, const Node& node) {
  if (!node.subgraphs.empty() || is_symbolic(node.attributes)) return std::nullopt;
  std::vector<const Tensor*> constants;
  std::vector<const TensorType*> types;
  bool constant = true;
  for (ValueId v : node.operands) {
    constants.push_back(graph.constant(v));
    types.push_back(v == kNone ? nullptr : &graph.type(v));
    constant = constant && (v == kNone || (constants.back() && !constants.back()->is_packed()));
  }
  try {
    if (node.op->from_types)
      if (std::optional<Tensor> value = node.op->from_types({types, constants, node.attributes})) return {{*value}};
    if (constant && quickly_evaluated(*node.op, {types, constants, node.attributes}))
      return evaluate_node(*node.op, constants, node.attributes);
  } catch (const Error&) {
  }
  return std::nullopt;
}

}  // namespace hone
