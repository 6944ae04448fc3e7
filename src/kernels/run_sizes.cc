#include "kernels/run_sizes.h"

#include <algorithm>

namespace hone {

Extent Formulas::extent(const Dim& dim) {
  if (dim.is_constant()) return {.number = dim.constant()};
  const auto place = std::ranges::find(dims_, dim) - dims_.begin();
  if (place == std::ssize(dims_)) dims_.push_back(dim);
  return {.formula = static_cast<int>(place)};
}

void Formulas::evaluate(const Bindings& bindings, std::vector<int64_t>& numbers) const {
  numbers.reserve(dims_.size());
  while (numbers.size() < dims_.size()) numbers.push_back(dims_[numbers.size()].evaluate(bindings));
}

GraphSizes::GraphSizes(const Graph& graph, Formulas& formulas) {
  RunSizes::Places places(graph.value_capacity());
  const auto note = [&](ValueId v) {
    const Shape& shape = graph.type(v).shape;
    places[static_cast<size_t>(v)] = {static_cast<uint32_t>(extents_.size()), static_cast<uint32_t>(shape.size())};
    if (!is_constant(shape)) open_values_.push_back(v);
    for (const Dim& dim : shape) {
      const Extent extent = formulas.extent(dim);
      if (extent.is_constant()) has_zeros_ |= extent.number == 0;
      else open_.emplace_back(extents_.size(), extent.formula);
      extents_.push_back(extent.number);
    }
  };
  for (ValueId v : graph.inputs()) note(v);
  for (ValueId v : graph.constants()) note(v);
  for (NodeId n : graph.nodes())
    for (ValueId v : graph.node(n).results) note(v);
  places_ = std::make_shared<const RunSizes::Places>(std::move(places));
}

RunSizes GraphSizes::of_run(const Formulas& formulas, Bindings bindings, std::map<ValueId, Tensor> known) const {
  RunSizes run;
  run.bindings_ = std::move(bindings);
  run.learn(formulas);
  run.places_ = places_;
  run.extents_ = extents_;
  run.has_zeros_ = has_zeros_;
  for (const auto& [at, formula] : open_) {
    run.extents_[at] = run.numbers_[static_cast<size_t>(formula)];
    run.has_zeros_ |= run.extents_[at] == 0;
  }
  run.known_ = std::move(known);
  return run;
}

RunSizes::RunSizes(const Graph& graph) {
  Formulas formulas;
  const GraphSizes sizes(graph, formulas);
  CHECK(sizes.open_values().empty(), "the graph has open sizes");
  *this = sizes.of_run(formulas, {}, {});
}

}  // namespace hone
