#include "runtime/token_limits.h"

#include <charconv>

#include "base/error.h"
#include "ops/calls/gather.h"

namespace hone {
namespace {

int64_t stated_positions(const Graph& graph) {
  const auto found = graph.metadata.find("max_positions");
  int64_t positions = 0;
  if (found != graph.metadata.end())
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), positions);
  return positions;
}

int64_t rows_selected_by(const Graph& graph, ValueId input) {
  for (const Graph::Use& use : graph.uses(input)) {
    const Node& node = graph.node(use.node);
    if (node.op != &gather_def || use.operand != 1) continue;
    const Tensor* table = graph.constant(node.operands[0]);
    if (table && node.attributes.get_or<int64_t>("axis", 0) == 0 && !table->shape().empty()) return table->dim(0);
  }
  return 0;
}

void check_ids(const TokenLimits::Input& input, const Tensor& ids) {
  const std::vector<int64_t> values = ids.to_integers();
  const int64_t length = ids.dim(1);
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] < 0 || values[i] >= input.rows)
      fail("input \"{}\" holds {} in row {}, token {}; the model has ids 0 to {}: was it tokenised for another model?",
           input.label, values[i], static_cast<int64_t>(i) / length, static_cast<int64_t>(i) % length, input.rows - 1);
}

}  // namespace

TokenLimits token_limits(const Graph& graph) {
  TokenLimits limits{.inputs = {}, .positions = stated_positions(graph)};
  if (limits.positions == 0) return limits;
  for (ValueId input : graph.inputs())
    if (const TensorType& type = graph.type(input); type.ranked && type.rank() == 2 && is_integer(type.dtype))
      limits.inputs.push_back({graph.value(input).label, rows_selected_by(graph, input)});
  return limits;
}

void check_tokens(const TokenLimits& limits, const std::map<std::string, Tensor>& inputs) {
  for (const TokenLimits::Input& input : limits.inputs) {
    const auto found = inputs.find(input.label);
    if (found == inputs.end() || found->second.shape().size() != 2) continue;
    if (const int64_t tokens = found->second.dim(1); tokens > limits.positions)
      fail(
          "input \"{}\" has {} tokens; the model has {} positions. Cut it to {}, as --text does; made-up inputs take "
          "--seq {} or less",
          input.label, tokens, limits.positions, limits.positions, limits.positions);
    if (input.rows > 0) check_ids(input, found->second);
  }
}

}  // namespace hone
