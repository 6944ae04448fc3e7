// Memory of a caller's that an output is to be written to.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/tensor.h"
#include "runtime/input_view.h"
#include "runtime/strided.h"

namespace hone {

// Memory that is aligned as its type is; kernels write elements there themselves, in row-major order or with strides,
// and nothing between them. An output that comes after sizes that depend on data is copied when the run has ended, as
// is one that lies apart in a model that is interpreted. By a step of the run is copied what is an input or constant as
// it is, shares its memory with another output, or is written by a class that takes no strides.
struct OutputView {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::span<std::byte> bytes;
  std::optional<Strides> strides = std::nullopt;  // none: row-major

  template <class T>
  static OutputView of(DType dtype, std::vector<int64_t> shape, std::span<T> elements) {
    return {dtype, std::move(shape), std::as_writable_bytes(elements)};
  }
  std::byte* first() const { return bytes.data() + (strides ? strides->offset * size_bytes(dtype) : 0); }
};
using OutputViews = std::map<std::string, OutputView>;  // by the names of outputs

// Throws Error for a name that is no output, memory that is not as large as its shape says or not aligned, and memory
// that overlaps that of an input or of another output.
void check_views(std::span<const std::string> outputs, const std::map<std::string, Tensor>& inputs,
                 const InputViews& input_views, const OutputViews& views);

// Throws Error unless the output is of that type and shape.
void check_fits(const std::string& label, const OutputView& view, DType dtype, std::span<const int64_t> shape);

}  // namespace hone
