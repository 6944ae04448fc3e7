#include "ops/elements.h"

#include <cstring>

namespace hone {

Tensor plain(const Tensor& tensor) { return tensor.is_packed() ? unpack(tensor) : tensor; }

std::vector<int64_t> sizes_of(const TensorType& type) { return constant_shape(type.shape); }

std::vector<int64_t> strides_of(std::span<const int64_t> sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

std::vector<int64_t> strides_broadcast(std::span<const int64_t> from, std::span<const int64_t> to) {
  CHECK(from.size() <= to.size());
  const std::vector<int64_t> own = strides_of(from);
  std::vector<int64_t> strides(to.size(), 0);
  const size_t lead = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) strides[lead + i] = from[i] == 1 ? 0 : own[i];
  return strides;
}

double dot(const double* a, const double* b, int64_t n) {
  double sums[4] = {};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int j = 0; j < 4; ++j) sums[j] += a[i + j] * b[i + j];
  for (; i < n; ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

AxisView around_axis(std::span<const int64_t> sizes, size_t axis) {
  AxisView view;
  for (size_t i = 0; i < sizes.size(); ++i) (i < axis ? view.outer : i == axis ? view.length : view.inner) *= sizes[i];
  return view;
}

Tensor copy_strided(const Tensor& src, std::vector<int64_t> sizes, std::span<const int64_t> strides, int64_t offset) {
  const auto bytes = static_cast<size_t>(size_bytes(src.dtype()));
  Buffer buffer(static_cast<size_t>(element_count(sizes)) * bytes);
  std::byte* to = buffer.mutable_bytes().data();
  const std::byte* from = src.data().bytes().data();
  for_each_offset(sizes, strides, [&](int64_t at) {
    std::memcpy(to, from + static_cast<size_t>(at + offset) * bytes, bytes);
    to += bytes;
  });
  return Tensor(src.dtype(), std::move(sizes), std::move(buffer));
}

}  // namespace hone
