#include "passes/permutation.h"

#include <numeric>
#include <string_view>

#include "base/error.h"
#include "ops/calls/transpose.h"

namespace hone {

bool is_permutation(const Graph& graph, NodeId node) {
  return graph.node(node).op == &transpose_def && graph.type(graph.operand(node, 0)).ranked &&
         graph.type(graph.result(node)).ranked;
}

NodeId permutation_before(const Graph& graph, ValueId value) {
  const NodeId producer = value == kNone ? kNone : graph.producer(value);
  return producer != kNone && is_permutation(graph, producer) ? producer : kNone;
}

Permutation permutation_of(const Graph& graph, NodeId transpose) {
  CHECK(is_permutation(graph, transpose));
  const auto rank = static_cast<int64_t>(graph.type(graph.operand(transpose, 0)).rank());
  Permutation perm(static_cast<size_t>(rank));
  std::iota(perm.rbegin(), perm.rend(), 0);
  perm = graph.node(transpose).attributes.get_or<std::vector<int64_t>>("perm", perm);
  for (int64_t& axis : perm) axis += axis < 0 ? rank : 0;
  return perm;
}

}  // namespace hone
