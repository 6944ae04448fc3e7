// Where a node stands in the order of a graph.
#pragma once

#include <algorithm>
#include <vector>

#include "ir/op_def.h"

namespace hone {

// Nodes stand in the order of their ids but for those that were inserted: looked for by halves first, then one by one.
// order.end() for a node that is not there.
inline std::vector<NodeId>::iterator find_in_order(std::vector<NodeId>& order, NodeId id) {
  if (!order.empty() && order.back() == id) return order.end() - 1;
  const auto guess = std::lower_bound(order.begin(), order.end(), id);
  return guess != order.end() && *guess == id ? guess : std::find(order.begin(), order.end(), id);
}

}  // namespace hone
