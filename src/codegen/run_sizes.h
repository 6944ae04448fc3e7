// The sizes of one run, and formulas for them. A size in a shape is a formula of symbols; what depends on none is a
// number from the start. Formulas are numbered once for a graph, and evaluated together for each run's symbols.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/shared_vector.h"
#include "ir/graph.h"

namespace hone {

// A size: a number, or the place of its formula among the graph's.
struct Extent {
  int64_t number = 0;
  int formula = -1;
  bool is_constant() const { return formula < 0; }
};

class Formulas {
 public:
  Extent extent(const Dim& dim);
  std::vector<int64_t> evaluate(const Bindings& bindings) const;  // throws Error for a symbol without a value

 private:
  std::vector<Dim> dims_;
};

class RunSizes {
 public:
  using Shapes = std::vector<SharedVector<int64_t>>;  // by ValueId; empty where a value has none

  explicit RunSizes(const Graph& graph);  // whose shapes are constant
  RunSizes(Bindings bindings, std::vector<int64_t> numbers, Shapes shapes, std::map<ValueId, Tensor> known)
      : bindings_(std::move(bindings)),
        numbers_(std::move(numbers)),
        shapes_(std::move(shapes)),
        known_(std::move(known)) {}

  int64_t of(Extent e) const { return e.is_constant() ? e.number : numbers_[static_cast<size_t>(e.formula)]; }
  const std::vector<int64_t>& shape(ValueId v) const { return shapes_[static_cast<size_t>(v)]; }
  const Bindings& bindings() const { return bindings_; }
  // An input whose value follows from the sizes alone: positions, a mask of ones; null for others.
  const Tensor* known(ValueId v) const {
    const auto found = known_.find(v);
    return found == known_.end() ? nullptr : &found->second;
  }

 private:
  Bindings bindings_;
  std::vector<int64_t> numbers_;
  Shapes shapes_;
  std::map<ValueId, Tensor> known_;
};

}  // namespace hone
