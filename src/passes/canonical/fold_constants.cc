#include "base/stop.h"
#include "ops/calls/fake_quant.h"
#include "ops/evaluate.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

// A result may be larger than its operands by this much: a broadcast of a scalar to a weight's size stays a node.
constexpr int64_t kFreeBytes = 64 << 10;

struct Operands {
  ValueId largest_labelled = kNone;
  int64_t bytes = 0;
};

// None unless every operand that is there is a plain constant, and one is there.
std::optional<Operands> constant_operands(const Graph& graph, const Node& node) {
  Operands found;
  for (ValueId id : node.operands) {
    const Tensor* tensor = graph.constant(id);
    if (id != kNone && (!tensor || tensor->is_packed())) return std::nullopt;
    if (!tensor) continue;
    found.bytes += tensor->bytes();
    const ValueId best = found.largest_labelled;
    if (!graph.value(id).label.empty() && (best == kNone || graph.constant(best)->bytes() < tensor->bytes()))
      found.largest_labelled = id;
  }
  if (found.bytes == 0) return std::nullopt;
  return found;
}

bool results_are_small(const Graph& graph, const Node& node, int64_t operand_bytes) {
  double bytes = 0;
  for (ValueId result : node.results) {
    const TensorType& type = graph.type(result);
    if (!type.is_static() || type.is_packed() || type.dtype == DType::string) return false;
    double elements = 1;
    for (int64_t size : constant_shape(type.shape)) elements *= static_cast<double>(size);
    bytes += elements * static_cast<double>(size_bytes(type.dtype));
  }
  return bytes <= static_cast<double>(operand_bytes + kFreeBytes);
}

void fold(Graph& graph, NodeId id, const Operands& operands, FoldBudget& budget) {
  const Node node = graph.node(id);
  std::optional<std::vector<Tensor>> values = known_results(graph, node, budget);
  if (!values) return;
  std::vector<ValueId> constants;
  std::vector<std::string> names;
  for (size_t i = 0; i < values->size(); ++i) {
    constants.push_back(graph.add_constant("", std::move((*values)[i])));
    graph.replace_all_uses(node.results[i], constants.back());
    names.push_back(graph.value(node.results[i]).name);
  }
  graph.erase(id);
  for (size_t i = 0; i < constants.size(); ++i) graph.rename(constants[i], names[i]);
  if (operands.largest_labelled == kNone) return;
  for (ValueId constant : constants)
    graph.set_label(constant, derived_label(graph, operands.largest_labelled, ".folded"));
}

Graph fold_constants(Graph graph, const PassContext&) {
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  FoldBudget budget = FoldBudget::of(graph);
  for (NodeId id : nodes) {
    check_stop();
    const Node& node = graph.node(id);
    if (node.op == &fake_quant_def) continue;
    const std::optional<Operands> operands = constant_operands(graph, node);
    if (operands && results_are_small(graph, node, operands->bytes)) fold(graph, id, *operands, budget);
  }
  graph.erase_unused_constants();
  return graph;
}

}  // namespace

extern constinit const PassDef fold_constants_def{.name = "fold_constants",
                                                  .doc =
                                                      "Nodes whose operands are all plain constants become constants, "
                                                      "by the reference evaluation; fake_quant stays, and "
                                                      "so does what would grow by more than 64 KiB, or take long.",
                                                  .run = fold_constants};

}  // namespace hone
