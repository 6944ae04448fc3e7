#include "passes/permutation.h"

#include <numeric>
#include <string_view>

#include "base/error.h"

namespace hone {

bool is_permutation(const Graph& graph, NodeId node) {
  return std::string_view(graph.node(node).op->name) == "transpose" && graph.type(graph.operand(node, 0)).ranked &&
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

Permutation inverse(const Permutation& perm) {
  Permutation result(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) result[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return result;
}

Permutation composed(const Permutation& first, const Permutation& second) {
  Permutation result;
  for (int64_t axis : second) result.push_back(first[static_cast<size_t>(axis)]);
  return result;
}

Shape permuted(const Shape& shape, const Permutation& perm) {
  Shape result;
  for (int64_t axis : perm) result.push_back(shape[static_cast<size_t>(axis)]);
  return result;
}

bool keeps_order(const Shape& shape, const Permutation& perm) {
  int64_t last = -1;
  for (int64_t axis : perm) {
    if (shape[static_cast<size_t>(axis)] == Dim(1)) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

}  // namespace hone
