// Conditions of `if` that a few nodes compute from small inputs: a rate, a flag, a number of a task. They are known
// before a run begins.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace hone {

class InputConditions {
 public:
  InputConditions() = default;
  explicit InputConditions(const Graph& graph);
  bool empty() const { return conditions_.empty(); }

  // The bytes that tell the conditions. None where `of` gives none for what is missing or does not fit.
  std::optional<std::string> key(const Graph& graph, const std::map<std::string, Tensor>& given) const;
  // By the nodes `if`. None where an input is missing, does not fit or is not on the host, or where a node fails: the
  // run says so.
  std::optional<std::map<NodeId, bool>> of(const Graph& graph, const std::map<std::string, Tensor>& given) const;

 private:
  std::vector<ValueId> inputs_;
  std::vector<NodeId> nodes_;  // in order
  std::vector<NodeId> conditions_;
};

}  // namespace hone
