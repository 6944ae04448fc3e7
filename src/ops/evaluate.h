// The reference backend: runs a graph node by node through the ops' own evaluations, with sums in double. The oracle of
// all tests.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace hone {

// Called for every node that has run, with its results.
using AfterNode = std::function<void(NodeId, std::span<const Tensor> results)>;

// Values of the graph's outputs, in their order, packed ones decoded; updates, among them, as they are. `inputs` has a tensor for
// each input label; of parameters and state, what they begin as is taken where there is none.
// Throws Error for a missing or unknown input, another element type or a shape that does not fit the declared one.
std::vector<Tensor> evaluate(const Graph& graph, const std::map<std::string, Tensor>& inputs,
                             const AfterNode& after = {});

// Runs a body of if, loop or scan: outputs, packed ones decoded, of `inputs` in the order of the body's.
using BodyRunner =
    std::function<std::vector<Tensor>(const Graph& body, std::vector<Tensor> inputs, const Bindings& around)>;

// The same for a body, or a graph whose shapes may depend on data: `inputs` in the order of the graph's, `bindings` of
// the symbols around it. `run_body` runs the bodies of its own nodes; null: they are evaluated likewise.
std::vector<Tensor> evaluate_body(const Graph& graph, std::vector<Tensor> inputs, const Bindings& bindings,
                                  const AfterNode& after = {}, const BodyRunner& run_body = {});

// Results of one op. An absent operand is nullptr. Throws Error when the operands do not fit the op.
std::vector<Tensor> evaluate_node(const OpDef& op, std::span<const Tensor* const> operands,
                                  const Attributes& attributes = {}, const std::vector<Graph>& subgraphs = {},
                                  const Bindings& bindings = {}, const BodyRunner& run_body = {});

// What the op's own evaluation gives. Held against the memory limit before it runs; Error when its results are not of
// the types in `args`, which may come from a file.
std::vector<Tensor> evaluate_op(const OpDef& op, const EvalArgs& args, const BodyRunner& run_body = {});

// What evaluating nodes ahead of a run may cost in all: a file of a few bytes may hold nodes that make gigabytes of
// them, or take hours.
struct FoldBudget {
  int64_t bytes = int64_t{64} << 20;         // of results
  int64_t work = int64_t{1} << 28;           // operations, but those of ops that take few per byte
  static FoldBudget of(const Graph& graph);  // twice the constants that there are, and then some
};

// What a node gives whose operands are plain constants, or whose operands' types decide it (OpDef::from_types). None
// when that is not so, when it owns graphs, when it is a product large enough to be left to generated code, and when
// evaluating it fails: that is reported when, and if, the node runs. None, too, where it would cost more than is left
// of the budget, which it otherwise pays from.
std::optional<std::vector<Tensor>> known_results(const Graph& graph, const Node& node, FoldBudget& budget);
std::optional<std::vector<Tensor>> known_results(const Graph& graph, const Node& node);  // a budget of its own
// The same of a node without graphs, by what its operands are.
std::optional<std::vector<Tensor>> known_results(const OpDef& op, std::span<const TensorType* const> types,
                                                 std::span<const Tensor* const> constants, const Attributes& attributes,
                                                 FoldBudget& budget);

// Values for the symbols of the graph's input shapes, read off the inputs, beside those that are `known`; checks the
// inputs as evaluate() does.
Bindings bind_inputs(const Graph& graph, const std::map<std::string, Tensor>& inputs, Bindings known = {});

}  // namespace hone
