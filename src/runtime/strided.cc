#include "runtime/strided.h"

#include <cstring>

#include "base/checked.h"
#include "base/error.h"

namespace hone {

Strides Strides::dense(std::span<const int64_t> shape) {
  Strides result{std::vector<int64_t>(shape.size())};
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride = checked_mul(stride, std::max<int64_t>(shape[i], 1)))
    result.strides[i] = stride;
  return result;
}

void check_strides(const std::string& what, DType dtype, std::span<const int64_t> shape, const Strides& strides,
                   size_t bytes) {
  if (dtype == DType::string) fail("{} is of strings, which have no bytes", what);
  if (strides.strides.size() != shape.size())
    fail("{} has {} dimensions and {} strides", what, shape.size(), strides.strides.size());
  int64_t first = strides.offset, last = strides.offset, elements = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) fail("{} has a size of {}; sizes are 0 or more", what, shape[i]);
    elements = checked_mul(elements, shape[i]);
    if (shape[i] == 0) continue;
    const int64_t reach = checked_mul(shape[i] - 1, strides.strides[i]);
    (reach < 0 ? first : last) = checked_add(reach < 0 ? first : last, reach);
  }
  if (elements == 0) return;
  const int64_t size = size_bytes(dtype);
  if (first < 0 || checked_mul(checked_add(last, 1), size) > static_cast<int64_t>(bytes))
    fail("{} has elements {} to {} of {} bytes each, in memory of {} bytes", what, first, last, size, bytes);
}

Tensor tensor_view(DType dtype, std::vector<int64_t> shape, std::span<const std::byte> bytes) {
  const Strides dense = Strides::dense(shape);
  return tensor_view(dtype, std::move(shape), bytes, dense);
}

Tensor tensor_view(DType dtype, std::vector<int64_t> shape, std::span<const std::byte> bytes, const Strides& strides) {
  check_strides("an input view", dtype, shape, strides, bytes.size());
  const Strides dense = Strides::dense(shape);
  const int64_t size = size_bytes(dtype);
  const auto all = static_cast<size_t>(element_count(shape) * size);
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % static_cast<uintptr_t>(size) == 0;
  if (strides == dense && aligned) return Tensor(dtype, std::move(shape), Buffer(nullptr, bytes.first(all)));
  Buffer copy = Buffer::uninitialised(all);
  copy_elements(shape, size, bytes.data(), strides, copy.mutable_bytes().data(), dense);
  return Tensor(dtype, std::move(shape), std::move(copy));
}

void copy_elements(std::span<const int64_t> shape, int64_t element_bytes, const std::byte* from,
                   const Strides& from_strides, std::byte* to, const Strides& to_strides) {
  for (int64_t size : shape)
    if (size == 0) return;
  size_t outer = shape.size();
  int64_t run = 1;  // elements that lie together
  for (; outer > 0 && from_strides.strides[outer - 1] == run && to_strides.strides[outer - 1] == run; --outer)
    run *= shape[outer - 1];
  const auto bytes = static_cast<size_t>(run * element_bytes);
  std::vector<int64_t> index(outer, 0);
  int64_t source = from_strides.offset, target = to_strides.offset;
  for (;;) {
    std::memcpy(to + target * element_bytes, from + source * element_bytes, bytes);
    size_t i = outer;
    for (; i > 0; --i) {
      source += from_strides.strides[i - 1], target += to_strides.strides[i - 1];
      if (++index[i - 1] < shape[i - 1]) break;
      source -= shape[i - 1] * from_strides.strides[i - 1], target -= shape[i - 1] * to_strides.strides[i - 1];
      index[i - 1] = 0;
    }
    if (i == 0) return;
  }
}

}  // namespace hone
