#include "runtime/output_view.h"

#include <algorithm>
#include <functional>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"

namespace hone {
namespace {

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  const std::less<> before;  // also of pointers into different objects
  return !a.empty() && !b.empty() && before(a.data(), b.data() + b.size()) && before(b.data(), a.data() + a.size());
}

std::string text_of(DType dtype, std::span<const int64_t> shape) {
  return to_string(TensorType{.dtype = dtype, .shape = to_shape(shape)});
}

void check_view(const std::string& label, const OutputView& view) {
  const std::string type = text_of(view.dtype, view.shape);
  if (view.dtype == DType::string)
    fail("output \"{}\" is to be written as {}, whose elements have no bytes", label, type);
  int64_t bytes = size_bytes(view.dtype);
  for (int64_t size : view.shape) {
    if (size < 0) fail("output \"{}\" is to be written as {}; sizes are 0 or more", label, type);
    bytes = checked_mul(bytes, size);
  }
  if (view.strides)
    check_strides(fmt::format("output \"{}\"", label), view.dtype, view.shape, *view.strides, view.bytes.size());
  else if (static_cast<int64_t>(view.bytes.size()) != bytes)
    fail("output \"{}\" is to be written as {}, {} bytes, to memory of {} bytes", label, type, bytes,
         view.bytes.size());
  if (reinterpret_cast<uintptr_t>(view.bytes.data()) % static_cast<uintptr_t>(size_bytes(view.dtype)) != 0)
    fail("the memory for output \"{}\" is not aligned to the {} bytes of an element", label, size_bytes(view.dtype));
}

}  // namespace

void check_views(std::span<const std::string> outputs, const std::map<std::string, Tensor>& inputs,
                 const InputViews& input_views, const OutputViews& views) {
  for (const auto& [label, view] : views) {
    if (std::ranges::find(outputs, label) == outputs.end())
      fail("the model has no output \"{}\"{}", label, did_you_mean(label, outputs));
    check_view(label, view);
    const auto check_input = [&, &label = label, &view = view](const std::string& name,
                                                               std::span<const std::byte> bytes) {
      if (overlap(bytes, view.bytes)) fail("the memory for output \"{}\" overlaps that of input \"{}\"", label, name);
    };
    for (const auto& [name, input] : inputs)
      for (const Buffer* plane : input.buffers())
        if (!plane->memory() && !input_views.contains(name)) check_input(name, plane->bytes());
    for (const auto& [name, input] : input_views) check_input(name, input.bytes);
    for (const auto& [other, memory] : views)
      if (other != label && overlap(memory.bytes, view.bytes))
        fail("the memory for output \"{}\" overlaps that for output \"{}\"", label, other);
  }
}

void check_fits(const std::string& label, const OutputView& view, DType dtype, std::span<const int64_t> shape) {
  if (view.dtype != dtype || !std::ranges::equal(view.shape, shape))
    fail("output \"{}\" is {}; memory is given for {}", label, text_of(dtype, shape), text_of(view.dtype, view.shape));
}

}  // namespace hone
