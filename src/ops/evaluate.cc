#include "ops/evaluate.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <new>
#include <set>
#include <stdexcept>

#include "base/checked.h"
#include "base/memory_limit.h"
#include "base/stop.h"
#include "base/text.h"
#include "ir/pointwise.h"
#include "ir/text.h"
#include "ops/control.h"
#include "ops/elements.h"

namespace hone {
namespace {

constexpr int64_t kSmallBytes = 1 << 20;  // asking for less is left to the allocation itself

void check_names(const Graph& graph, const std::map<std::string, Tensor>& inputs) {
  std::vector<std::string> labels;
  for (ValueId id : graph.inputs()) labels.push_back(graph.value(id).label);
  const auto begins = [&](size_t i) { return graph.value(graph.inputs()[i]).initial.has_value(); };
  const std::set<std::string> known(labels.begin(), labels.end());
  for (const auto& [name, tensor] : inputs)
    if (!known.contains(name))
      fail("\"{}\" is not an input of the model; it takes {}{}", name,
           labels.empty() ? "none" : fmt::format("{}", fmt::join(labels, ", ")), did_you_mean(name, labels));
  std::vector<std::string> given;
  for (const auto& [name, tensor] : inputs) given.push_back(name);
  for (size_t i = 0; i < labels.size(); ++i)
    if (!inputs.contains(labels[i]) && !begins(i))
      fail("input \"{}\" is missing; given: {}", labels[i],
           given.empty() ? "none" : fmt::format("{}", fmt::join(given, ", ")));
}

// Or as often as a window has taps, which are few beside it.
bool reads_elements_once(const OpDef& op) {
  const std::string_view name = op.name;
  return op.pointwise || op.row || op.moves || op.view || name == "gather" || name == "fake_quant" ||
         name == "max_pool" || name == "avg_pool";
}

// Doubles stand beside what an op computes; what only moves elements, or works in blocks, makes none.
int64_t bytes_per_element(const OpDef& op, DType dtype) {
  const bool moves = op.pointwise || op.moves || op.view;
  if (dtype == DType::string) return sizeof(std::string);
  return size_bytes(dtype) + (moves ? 0 : static_cast<int64_t>(sizeof(double)));
}

void require_room(const OpDef& op, std::span<const TensorType> results) {
  for (const TensorType& type : results)
    if (type.is_static())
      if (const int64_t bytes = element_count(constant_shape(type.shape)) * bytes_per_element(op, type.dtype);
          bytes > kSmallBytes)
        require_memory(bytes, fmt::format("{}, which gives {},", op.name, to_string(type)));
}

bool are_empty(std::span<const TensorType> results) {
  return !results.empty() && std::ranges::all_of(results, [](const TensorType& type) {
    return type.is_static() && !type.is_packed() && element_count(type.shape) == Dim(0);
  });
}

std::vector<Tensor> computed(const OpDef& op, const EvalArgs& args, const BodyRunner& run_body) {
  try {
    if (run_body && is_control(op)) return evaluate_control(op, args, run_body);
    return op.eval ? op.eval(args) : eval_pointwise(op, args);
  } catch (const std::out_of_range&) {
    fail("{}: an operand holds fewer values than the op needs", op.name);
  } catch (const std::length_error&) {
    fail("{}: a list of more elements than any memory holds", op.name);
  } catch (const std::bad_alloc&) {
    fail("{}: no memory is left", op.name);
  }
}

// Values while a graph runs: constants and inputs stay, results go after their last use. Each node is inferred again
// from the tensors it gets: what the graph declares may come from a file, and may not be known beforehand.
class Evaluation {
 public:
  Evaluation(const Graph& graph, std::vector<Tensor> inputs, Bindings bindings, const BodyRunner& run_body)
      : graph_(graph),
        run_body_(run_body),
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
      expect_declared(graph.inputs()[i], inputs[i]);
      at(graph.inputs()[i]) = std::move(inputs[i]);
      bind(graph.inputs()[i]);
    }
  }

  void step(NodeId id, const AfterNode& after) {
    check_stop();
    const Node& node = graph_.node(id);
    std::vector<const Tensor*> operands;
    for (ValueId v : node.operands) operands.push_back(v == kNone ? nullptr : &at(v));
    std::vector<Tensor> results;
    try {
      const bool symbolic = is_symbolic(node.attributes);
      results = evaluate_node(*node.op, operands, symbolic ? substituted(node.attributes, bindings_) : node.attributes,
                              node.subgraphs, bindings_, run_body_);
      if (results.size() != node.results.size())
        fail("{} results; the graph declares {}", results.size(), node.results.size());
      for (size_t i = 0; i < results.size(); ++i) expect_declared(node.results[i], results[i]);
    } catch (const Error& error) {
      fail("{}\n  in {}", error.what(), print_node(graph_, id));
    }
    if (after) after(id, results);
    for (size_t i = 0; i < results.size(); ++i) {
      at(node.results[i]) = std::move(results[i]);
      if (!graph_.type(node.results[i]).is_static()) bind(node.results[i]);
    }
    for (ValueId v : node.operands) release(v);
  }

  Tensor value(ValueId id) const { return values_[static_cast<size_t>(id)]; }

 private:
  Tensor& at(ValueId id) { return values_[static_cast<size_t>(id)]; }
  void release(ValueId id) {
    if (id != kNone && --uses_left_[static_cast<size_t>(id)] == 0) at(id) = Tensor();
  }

  void expect_declared(ValueId id, const Tensor& tensor) const {
    const Value& value = graph_.value(id);
    if (!fits(tensor, value.type))
      fail("%{} is {}; graph {} declares {}", value.name, to_string(tensor.type()), graph_.name, to_string(value.type));
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
  const BodyRunner& run_body_;
  std::vector<Tensor> values_;
  std::vector<int> uses_left_;
  Bindings bindings_;
};

}  // namespace

std::vector<Tensor> evaluate_op(const OpDef& op, const EvalArgs& args, const BodyRunner& run_body) {
  require_room(op, args.results);
  std::vector<Tensor> results;
  if (op.bodies == 0 && are_empty(args.results)) {
    for (const TensorType& type : args.results) results.emplace_back(type.dtype, constant_shape(type.shape));
    return results;
  }
  results = computed(op, args, run_body);
  if (results.size() != args.results.size())
    fail("{} gave {} results instead of {}", op.name, results.size(), args.results.size());
  for (size_t i = 0; i < results.size(); ++i)
    if (!fits(results[i], args.results[i]))
      fail("{} gave {} instead of {}", op.name, to_string(results[i].type()), to_string(args.results[i]));
  return results;
}

Bindings bind_inputs(const Graph& graph, const std::map<std::string, Tensor>& inputs, Bindings bindings) {
  check_names(graph, inputs);
  const auto what = [&](ValueId id) { return fmt::format("input \"{}\"", graph.value(id).label); };
  const auto given = [&](ValueId id) -> const Tensor& {
    const auto found = inputs.find(graph.value(id).label);
    return found == inputs.end() ? *graph.value(id).initial : found->second;
  };
  for (ValueId id : graph.inputs()) {
    const TensorType& type = graph.type(id);
    const Tensor& tensor = given(id);
    if (tensor.format() != type.format || tensor.dtype() != type.dtype || tensor.container() != type.container)
      fail("{} is {}; the model takes {}", what(id), to_string(tensor.type()), to_string(type));
    // Symbols first: another input's formula may read them.
    for (size_t i = 0; type.ranked && i < type.rank() && type.rank() == tensor.shape().size(); ++i)
      if (type.shape[i].is_symbol()) bindings.try_emplace(type.shape[i].to_string(), tensor.shape()[i]);
  }
  for (ValueId id : graph.inputs())
    if (graph.type(id).ranked) bind_shape(graph.type(id).shape, given(id).shape(), bindings, what(id));
  return bindings;
}

std::vector<Tensor> evaluate(const Graph& graph, const std::map<std::string, Tensor>& inputs, const AfterNode& after) {
  std::map<std::string, Tensor> given = inputs;
  for (ValueId id : graph.inputs())
    if (const Value& input = graph.value(id); input.initial) given.emplace(input.label, *input.initial);
  const Bindings bindings = bind_inputs(graph, given);
  const Graph concrete = specialise(graph, bindings);
  std::vector<Tensor> values;
  for (ValueId id : concrete.inputs()) values.push_back(given.at(concrete.value(id).label));
  return evaluate_body(concrete, std::move(values), bindings, after);
}

std::vector<Tensor> evaluate_body(const Graph& graph, std::vector<Tensor> inputs, const Bindings& bindings,
                                  const AfterNode& after, const BodyRunner& run_body) {
  check_stop();  // a body without nodes, too, may run any number of times
  Evaluation evaluation(graph, std::move(inputs), bindings, run_body);
  for (NodeId id : graph.nodes()) evaluation.step(id, after);
  std::vector<Tensor> outputs;
  for (const Output& output : graph.outputs()) {
    Tensor value = evaluation.value(output.value);
    outputs.push_back(output.updates == kNone ? plain(value) : std::move(value));
  }
  return outputs;
}

std::vector<Tensor> evaluate_node(const OpDef& op, std::span<const Tensor* const> operands,
                                  const Attributes& attributes, const std::vector<Graph>& subgraphs,
                                  const Bindings& bindings, const BodyRunner& run_body) {
  std::vector<TensorType> types;
  for (const Tensor* operand : operands) types.push_back(operand ? operand->type() : TensorType{});
  std::vector<const TensorType*> type_pointers;
  for (size_t i = 0; i < operands.size(); ++i) type_pointers.push_back(operands[i] ? &types[i] : nullptr);
  const std::vector<TensorType> results = infer_results(op, type_pointers, operands, attributes, subgraphs);
  return evaluate_op(op, {operands, attributes, results, &subgraphs, &bindings}, run_body);
}

FoldBudget FoldBudget::of(const Graph& graph) {
  FoldBudget budget;
  budget.work = int64_t{1} << 29;  // a few seconds
  budget.bytes = int64_t{256} << 20;
  for (ValueId id : graph.constants()) budget.bytes = checked_add(budget.bytes, 2 * graph.constant(id)->bytes());
  return budget;
}

namespace {

struct Cost {
  int64_t bytes = 0, work = 0;
};

int64_t elements_of(const TensorType& type) { return element_count(constant_shape(type.shape)); }

// About what an evaluation takes; none where that can't be told beforehand. A product takes the reference evaluation
// about a second per 10^9 operations, generated code a hundredth of that.
std::optional<Cost> cost_of(const OpDef& op, const InferArgs& args, const std::vector<TensorType>& results) {
  constexpr int64_t kMostFlops = 16 << 20, kMostOperands = 4 << 20;
  int64_t read = 1, written = 1;
  for (const TensorType* type : args.operands)
    if (type) read = checked_add(read, elements_of(*type));
  Cost cost;
  for (const TensorType& type : results) {
    if (!type.is_static()) {
      if (read > kMostOperands) return std::nullopt;
      continue;
    }
    written = checked_add(written, elements_of(type));
    const auto bytes = type.dtype == DType::string ? sizeof(std::string) : static_cast<size_t>(size_bytes(type.dtype));
    cost.bytes = checked_add(cost.bytes, elements_of(type) * static_cast<int64_t>(bytes));
  }
  if (op.flops) {
    const Dim flops = op.flops(args);
    if (!flops.is_constant() || flops.constant() > kMostFlops) return std::nullopt;
    cost.work = flops.constant();
  } else if (!reads_elements_once(op) && !args.operands.empty()) {
    cost.work = checked_mul(read, written);  // at worst each result reads everything
  }
  return cost;
}

}  // namespace

std::optional<std::vector<Tensor>> known_results(const Graph& graph, const Node& node, FoldBudget& budget) {
  if (!node.subgraphs.empty()) return std::nullopt;
  std::vector<const Tensor*> constants;
  std::vector<const TensorType*> types;
  for (ValueId v : node.operands) {
    constants.push_back(graph.constant(v));
    types.push_back(v == kNone ? nullptr : &graph.type(v));
  }
  return known_results(*node.op, types, constants, node.attributes, budget);
}

std::optional<std::vector<Tensor>> known_results(const OpDef& op, std::span<const TensorType* const> types,
                                                 std::span<const Tensor* const> constants, const Attributes& attributes,
                                                 FoldBudget& budget) {
  if (is_symbolic(attributes)) return std::nullopt;
  bool constant = true;
  for (size_t i = 0; i < types.size(); ++i)
    constant = constant && (!types[i] || (constants[i] && !constants[i]->is_packed()));
  try {
    const InferArgs args{types, constants, attributes};
    if (op.from_types)
      if (std::optional<Tensor> value = op.from_types(args)) return {{*value}};
    if (!constant) return std::nullopt;
    const std::vector<TensorType> results = infer_results(op, types, constants, attributes);
    const std::optional<Cost> cost = cost_of(op, args, results);
    if (!cost || cost->bytes > budget.bytes || cost->work > budget.work) return std::nullopt;
    budget.bytes -= cost->bytes, budget.work -= cost->work;
    return evaluate_op(op, {constants, attributes, results});
  } catch (const Error&) {
  }
  return std::nullopt;
}

std::optional<std::vector<Tensor>> known_results(const Graph& graph, const Node& node) {
  FoldBudget budget;
  return known_results(graph, node, budget);
}

}  // namespace hone
