// Tensors of include/hone and those of the library, from one to the other.
#pragma once

#include <hone/tensor.h>

#include <optional>

#include "runtime/input_view.h"
#include "runtime/output_view.h"
#include "runtime/session.h"

namespace hone::api {

// A tensor is the library's, or elements in a caller's memory.
struct Tensor::Impl {
  struct Memory {
    hone::DType dtype = hone::DType::f32;
    std::vector<int64_t> shape, strides;
    std::byte* first = nullptr;
    std::shared_ptr<const void> owner;
    bool read_only = false;
  };
  hone::Tensor tensor;  // without `memory`
  std::optional<Memory> memory;
  std::vector<int64_t> shape;  // of either
};

bool is_row_major(const Tensor::Impl::Memory& memory);  // whatever the strides of dimensions of size 1

inline hone::DType engine(DType dtype) { return static_cast<hone::DType>(dtype); }
inline DType wrapped(hone::DType dtype) { return static_cast<DType>(dtype); }

Tensor wrapped(hone::Tensor tensor);        // on the host
hone::Tensor engine(const Tensor& tensor);  // elements stay where they are when they lie row-major and aligned
hone::Tensor copied(const Tensor& tensor);  // never in a caller's memory: what the caller writes later is not seen
NamedTensors wrapped(hone::NamedTensors tensors);
hone::NamedTensors engine(const NamedTensors& tensors);

// What a run reads: tensors of the library, and views of callers' memory.
struct RunInputs {
  hone::NamedTensors tensors;
  InputViews views;
};
RunInputs run_inputs(const NamedTensors& tensors);

// Where a run writes outputs. Throws Error for memory that nobody may write, strings and packed tensors.
OutputViews output_views(NamedTensors& outputs);

// All bytes from the lowest element to the highest, and where [0, 0, …] is among them.
struct MemorySpan {
  std::span<std::byte> bytes;
  int64_t offset = 0;  // in elements
};
MemorySpan span_of(const Tensor::Impl::Memory& memory);

}  // namespace hone::api
