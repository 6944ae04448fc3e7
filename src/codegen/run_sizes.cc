#include "codegen/run_sizes.h"

#include <algorithm>

namespace hone {

Extent Formulas::extent(const Dim& dim) {
  if (dim.is_constant()) return {.number = dim.constant()};
  const auto place = std::ranges::find(dims_, dim) - dims_.begin();
  if (place == std::ssize(dims_)) dims_.push_back(dim);
  return {.formula = static_cast<int>(place)};
}

std::vector<int64_t> Formulas::evaluate(const Bindings& bindings) const {
  std::vector<int64_t> numbers;
  numbers.reserve(dims_.size());
  for (const Dim& dim : dims_) numbers.push_back(dim.evaluate(bindings));
  return numbers;
}

RunSizes::RunSizes(const Graph& graph) {
  shapes_.resize(graph.value_capacity());
  const auto note = [&](ValueId v) { shapes_[static_cast<size_t>(v)] = constant_shape(graph.type(v).shape); };
  for (ValueId v : graph.inputs()) note(v);
  for (ValueId v : graph.constants()) note(v);
  for (NodeId n : graph.nodes())
    for (ValueId v : graph.node(n).results) note(v);
}

}  // namespace hone
