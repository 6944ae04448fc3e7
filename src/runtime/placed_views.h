// Which of a run's views are read and written where they are. How elements that lie apart do so is a class: which
// strides are 0 or 1, which follow from others and the sizes, and which are numbers of their own. Each class has code;
// the numbers are arguments like sizes.
#pragma once

#include "kernels/layouts.h"
#include "runtime/input_view.h"
#include "runtime/output_view.h"
#include "runtime/token_limits.h"

namespace hone {

struct PlacedViews {
  std::map<std::string, Tensor> inputs;  // those given, and views as tensors, which have no memory where they lie apart
  InputViews apart;                      // these
  OutputViews outputs;                   // that kernels may write
  Layouts layouts;
  Bindings strides;  // of the symbols in the layouts
};

// Without `apart` only dense views are used where they are. `limits`: inputs whose elements are looked at before a run.
// Throws Error for an input that is given twice, and for elements outside their memory.
PlacedViews place_views(const Graph& graph, const std::map<std::string, Tensor>& given, const InputViews& inputs,
                        const OutputViews& outputs, bool apart, const TokenLimits& limits);

// Strides of one of `shape`, declared as `declared`: formulas of its symbols, and of new ones that begin with `name`
// and get their numbers in `numbers`.
Shape layout_of(const Shape& declared, std::span<const int64_t> shape, const Strides& strides, const std::string& name,
                Bindings& numbers);

}  // namespace hone
