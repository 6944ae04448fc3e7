// A concat whose first operands another one has joined already takes what that one gives: of the features that the
// layers of a dense block add to one list, each is copied on its own once, and not again for every layer behind it.
#include <map>

#include "ops/calls/concat.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

struct Joined {
  std::vector<ValueId> operands;
  ValueId result;
};

bool begins_with(const std::vector<ValueId>& operands, const std::vector<ValueId>& first) {
  return operands.size() > first.size() && std::equal(first.begin(), first.end(), operands.begin());
}

Graph nest_concats(Graph graph, const PassContext&) {
  std::map<std::pair<int64_t, ValueId>, Joined> last;  // by axis and first operand
  for (NodeId n : graph.nodes(concat_def)) {
    const Node node = graph.node(n);
    if (node.operands.size() < 2 || !graph.type(node.results[0]).ranked) continue;
    const auto given = node.attributes.get<int64_t>("axis");
    const int64_t axis = given < 0 ? given + static_cast<int64_t>(graph.type(node.results[0]).rank()) : given;
    Joined& before = last[{axis, node.operands[0]}];
    Joined now{node.operands, node.results[0]};
    if (begins_with(node.operands, before.operands) && before.operands.size() > 1) {
      std::vector<ValueId> operands{before.result};
      operands.insert(operands.end(), node.operands.begin() + std::ssize(before.operands), node.operands.end());
      now.result = graph.result(replace_node(graph, n, {&concat_def, std::move(operands), node.attributes}));
    }
    before = std::move(now);
  }
  return graph;
}

}  // namespace

extern constinit const PassDef nest_concats_def{
    .name = "nest_concats",
    .doc = "concat(a, b, c) where there is concat(a, b) → concat of that and c.",
    .run = nest_concats};

}  // namespace hone
