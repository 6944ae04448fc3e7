// The sparse half of tensors.h.
#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "base/error.h"
#include "io/onnx/extent.h"
#include "io/onnx/tensors.h"

namespace hone::onnx {
namespace {

// Zeros that a dense tensor may have for nothing, and for each byte of the values.
constexpr int64_t kFreeBytes = 1 << 20, kBytesPerByte = 1000;

void check_shapes(const Tensor& values, const Tensor& indices, size_t rank, const std::string& source) {
  if (values.shape().size() != 1 || values.dtype() == DType::string)
    fail("{}: its values are {}; expected numbers of one dimension", source, to_string(values.type()));
  const std::vector<int64_t> linear{values.dim(0)}, coordinates{values.dim(0), static_cast<int64_t>(rank)};
  if (indices.dtype() != DType::i64 || (indices.shape() != linear && indices.shape() != coordinates))
    fail("{}: its indices are {}; expected i64[{}] or i64[{}]", source, to_string(indices.type()),
         fmt::join(linear, ","), fmt::join(coordinates, ","));
}

// The position of a value among the elements, from a linear index or coordinates.
int64_t position(std::span<const int64_t> index, const Extent& extent, bool is_linear, const std::string& source) {
  int64_t result = 0;
  for (size_t axis = 0; axis < index.size(); ++axis) {
    const int64_t size = is_linear ? extent.elements : extent.shape[axis];
    if (index[axis] < 0 || index[axis] >= size)
      fail("{}: index {} is outside of the shape [{}]", source, index[axis], fmt::join(extent.shape, ","));
    result = result * size + index[axis];
  }
  return result;
}

void check_size(const Extent& extent, const Tensor& values, const std::string& source) {
  if (extent.elements > (kFreeBytes + values.bytes() * kBytesPerByte) / size_bytes(values.dtype()))
    fail("{}: {} values for the shape [{}]; at most {} bytes of zeros per byte of values are accepted", source,
         values.elements(), fmt::join(extent.shape, ","), kBytesPerByte);
}

Tensor scattered(const Tensor& values, const Tensor& indices, const Extent& extent, const std::string& source) {
  Tensor dense(values.dtype(), extent.shape);
  const size_t bytes = static_cast<size_t>(size_bytes(values.dtype()));
  std::byte* const out = dense.mutable_data();
  const std::byte* in = values.data().bytes().data();
  const bool is_linear = indices.shape().size() == 1;
  const size_t width = is_linear ? 1 : extent.shape.size();
  int64_t last = -1;
  for (size_t i = 0; i < static_cast<size_t>(values.elements()); ++i, in += bytes) {
    const int64_t here = position(indices.as<int64_t>().subspan(i * width, width), extent, is_linear, source);
    if (here <= last) fail("{}: its indices do not ascend at value {}", source, i);
    std::memcpy(out + static_cast<size_t>(here) * bytes, in, bytes);
    last = here;
  }
  return dense;
}

}  // namespace

Tensor tensor_of(SparseTensorProto&& proto, const TensorContext& where) {
  const std::string source = fmt::format("{}: sparse tensor {:?}", where.source, proto.values().name());
  const TensorContext part{source, where.external};
  const Tensor values = tensor_of(std::move(*proto.mutable_values()), part);
  const Tensor indices = tensor_of(std::move(*proto.mutable_indices()), part);
  check_shapes(values, indices, static_cast<size_t>(proto.dims_size()), source);
  const Extent extent = extent_of(proto.dims(), values.dtype(), source);
  check_size(extent, values, source);
  return scattered(values, indices, extent, source);
}

}  // namespace hone::onnx
