#include "api/values.h"

#include <algorithm>

#include "base/checked.h"
#include "ir/node_rules.h"

namespace hone::api {

Tensor wrapped(hone::Tensor tensor) {
  auto impl = std::make_shared<Tensor::Impl>();
  impl->tensor = tensor.on_host();
  impl->shape = impl->tensor.shape();
  return Tensor(std::move(impl));
}

MemorySpan span_of(const Tensor::Impl::Memory& memory) {
  const int64_t element_bytes = size_bytes(memory.dtype);
  int64_t lowest = 0, highest = 0;
  for (size_t i = 0; i < memory.shape.size(); ++i) {
    if (memory.shape[i] == 0) return {};
    const int64_t reach = checked_mul(memory.shape[i] - 1, memory.strides[i]);
    (reach < 0 ? lowest : highest) = checked_add(reach < 0 ? lowest : highest, reach);
  }
  const int64_t elements = checked_add(checked_add(highest, checked_mul(lowest, -1)), 1);
  return {
      {memory.first + checked_mul(lowest, element_bytes), static_cast<size_t>(checked_mul(elements, element_bytes))},
      -lowest};
}

bool is_row_major(const Tensor::Impl::Memory& memory) {
  if (element_count(memory.shape) == 0) return true;
  const std::vector<int64_t> dense = Strides::dense(memory.shape).strides;
  for (size_t i = 0; i < memory.shape.size(); ++i)
    if (memory.shape[i] != 1 && memory.strides[i] != dense[i]) return false;
  return true;
}

namespace {

bool is_aligned(const Tensor::Impl::Memory& memory) {
  return reinterpret_cast<uintptr_t>(memory.first) % static_cast<uintptr_t>(size_bytes(memory.dtype)) == 0;
}

// Strides of memory whose elements lie apart; none where they are row-major.
std::optional<Strides> strides_of(const Tensor::Impl::Memory& memory, int64_t offset) {
  if (is_row_major(memory)) return std::nullopt;
  return Strides{memory.strides, offset};
}

}  // namespace

hone::Tensor engine(const Tensor& tensor) {
  const Tensor::Impl& impl = *tensor.impl();
  if (!impl.memory) return impl.tensor;
  const Tensor::Impl::Memory& memory = *impl.memory;
  const MemorySpan span = span_of(memory);
  if (is_row_major(memory) && is_aligned(memory))
    return hone::Tensor(memory.dtype, memory.shape, Buffer(memory.owner, span.bytes));
  hone::Tensor copy(memory.dtype, memory.shape);
  if (!span.bytes.empty())
    copy_elements(memory.shape, size_bytes(memory.dtype), span.bytes.data(), Strides{memory.strides, span.offset},
                  copy.mutable_data(), Strides::dense(memory.shape));
  return copy;
}

hone::Tensor copied(const Tensor& tensor) {
  hone::Tensor elements = engine(tensor);
  if (!tensor.impl()->memory) return elements;
  return hone::Tensor(elements.dtype(), elements.shape(), Buffer::copy_of(elements.data().bytes()));
}

NamedTensors wrapped(hone::NamedTensors tensors) {
  NamedTensors all;
  for (auto& [name, tensor] : tensors) all.emplace(name, wrapped(std::move(tensor)));
  return all;
}

hone::NamedTensors engine(const NamedTensors& tensors) {
  hone::NamedTensors all;
  for (const auto& [name, tensor] : tensors) all.emplace(name, engine(tensor));
  return all;
}

RunInputs run_inputs(const NamedTensors& tensors) {
  RunInputs inputs;
  for (const auto& [name, tensor] : tensors) {
    const Tensor::Impl& impl = *tensor.impl();
    if (!impl.memory) {
      inputs.tensors.emplace(name, impl.tensor);
      continue;
    }
    const MemorySpan span = span_of(*impl.memory);
    inputs.views.emplace(
        name, InputView{impl.memory->dtype, impl.memory->shape, span.bytes, strides_of(*impl.memory, span.offset)});
  }
  return inputs;
}

OutputViews output_views(NamedTensors& outputs) {
  OutputViews views;
  for (auto& [name, tensor] : outputs) {
    const Tensor::Impl& impl = *tensor.impl();
    if (tensor.is_packed() || tensor.dtype() == DType::string)
      fail("output \"{}\": {} is no memory that a run can write to; plain numbers are", name, tensor.type());
    if (impl.memory && impl.memory->read_only) fail("output \"{}\": its memory is read-only", name);
    if (impl.memory) {
      const MemorySpan span = span_of(*impl.memory);
      views.emplace(
          name, OutputView{impl.memory->dtype, impl.memory->shape, span.bytes, strides_of(*impl.memory, span.offset)});
      continue;
    }
    auto* first = static_cast<std::byte*>(tensor.mutable_data());
    views.emplace(name, OutputView{engine(tensor.dtype()), tensor.shape(),
                                   std::span(first, static_cast<size_t>(tensor.bytes()))});
  }
  return views;
}

}  // namespace hone::api
