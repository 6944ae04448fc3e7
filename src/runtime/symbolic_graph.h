// A session's graph with its sizes left open: made ready once, for whatever sizes runs have.
//
// Some nodes follow from the sizes alone: positions, masks of ones, shapes that were computed with. They are evaluated
// when a run brings new sizes, and so are the shapes of results that shape rules could not tell before, and rules that
// not all sizes fulfil. What is left reads their values as if they were inputs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/lower.h"
#include "ops/evaluate.h"

namespace hone {

class SymbolicGraph {
 public:
  // None where no sizes or strides are open, and where some nodes are undecided_for_any_sizes().
  static std::optional<SymbolicGraph> of(const Graph& given, const LowerOptions& options, const Layouts& layouts = {});

  // None where some sizes depend on data. Throws Error for sizes that do not fit an op's rule.
  std::optional<RunSizes> sizes(const Bindings& bindings) const;
  const std::shared_ptr<PreparedGraph>& prepared() const { return prepared_; }

 private:
  SymbolicGraph() = default;

  Graph graph_;                // as it was
  std::vector<NodeId> nodes_;  // whose rules are asked when sizes are known, in order
  std::vector<bool> known_;    // by ValueId: constants, and values that follow
  std::map<ValueId, ValueId> input_of_;
  FoldBudget budget_;
  std::shared_ptr<PreparedGraph> prepared_;
};

}  // namespace hone
