// The sizes of one run, and formulas for them. A size in a shape is a formula of symbols; what depends on none is a
// number from the start. Formulas are numbered once for a graph, and evaluated together for each run's symbols.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
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
  // Appends the numbers of those that `numbers` lacks. Throws Error for a symbol without a value.
  void evaluate(const Bindings& bindings, std::vector<int64_t>& numbers) const;

 private:
  std::vector<Dim> dims_;
};

// The sizes of one run's values, one behind the other.
class RunSizes {
 public:
  explicit RunSizes(const Graph& graph);  // whose shapes are constant

  int64_t of(Extent e) const {
    if (e.is_constant()) return e.number;
    CHECK(static_cast<size_t>(e.formula) < numbers_.size(), "a formula that these sizes do not know");
    return numbers_[static_cast<size_t>(e.formula)];
  }
  void learn(const Formulas& formulas) { formulas.evaluate(bindings_, numbers_); }  // those that were added since
  std::span<const int64_t> shape(ValueId v) const {
    const auto [begin, rank] = (*places_)[static_cast<size_t>(v)];
    return std::span(extents_).subspan(begin, rank);
  }
  bool has_zeros() const { return has_zeros_; }  // some size is 0
  const Bindings& bindings() const { return bindings_; }
  // An input whose value follows from the sizes alone: positions, a mask of ones; null for others.
  const Tensor* known(ValueId v) const {
    const auto found = known_.find(v);
    return found == known_.end() ? nullptr : &found->second;
  }

 private:
  friend class GraphSizes;
  struct Place {
    uint32_t begin = 0, rank = 0;
  };
  using Places = std::vector<Place>;  // by ValueId
  RunSizes() = default;

  Bindings bindings_;
  std::vector<int64_t> numbers_;
  std::shared_ptr<const Places> places_;
  std::vector<int64_t> extents_;
  bool has_zeros_ = false;
  std::map<ValueId, Tensor> known_;
};

// The sizes of a graph's values, with formulas where they are open.
class GraphSizes {
 public:
  GraphSizes(const Graph& graph, Formulas& formulas);
  const std::vector<ValueId>& open_values() const { return open_values_; }  // with an open size
  // `formulas`: those given first, and more.
  RunSizes of_run(const Formulas& formulas, Bindings bindings, std::map<ValueId, Tensor> known) const;

 private:
  std::shared_ptr<const RunSizes::Places> places_;
  std::vector<int64_t> extents_;              // 0 where one is open
  std::vector<std::pair<size_t, int>> open_;  // place among the extents, and formula
  std::vector<ValueId> open_values_;
  bool has_zeros_ = false;
};

}  // namespace hone
