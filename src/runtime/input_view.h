// Memory of a caller's that an input is read from.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/tensor.h"
#include "runtime/strided.h"

namespace hone {

// Kernels read its elements where they lie. Copied once, as tensor_view() does, is one that is not aligned as its type
// is, that is looked at before a run (token ids of a model that states its positions), or whose elements lie apart in a
// model that is interpreted. Steps of a class that takes no strides read a copy that a step of the run makes.
struct InputView {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;               // nothing before or behind it is read
  std::optional<Strides> strides = std::nullopt;  // none: row-major

  template <class T>
  static InputView of(DType dtype, std::vector<int64_t> shape, std::span<T> elements) {
    return {dtype, std::move(shape), std::as_bytes(elements)};
  }
  const std::byte* first() const { return bytes.data() + (strides ? strides->offset * size_bytes(dtype) : 0); }
};
using InputViews = std::map<std::string, InputView>;  // by the labels of inputs

}  // namespace hone
