#include "io/onnx/extent.h"

#include <fmt/format.h>

#include "base/error.h"

namespace hone::onnx {

Extent extent_of(const google::protobuf::RepeatedField<int64_t>& dims, DType dtype, const std::string& source) {
  constexpr int kMaxRank = 64;  // as in NumPy
  if (dims.size() > kMaxRank) fail("{}: has {} dimensions; at most {} are accepted", source, dims.size(), kMaxRank);
  Extent extent{{dims.begin(), dims.end()}};
  int64_t bytes = dtype == DType::string ? int64_t{sizeof(std::string)} : size_bytes(dtype);
  for (const int64_t size : dims) {
    if (size < 0) fail("{}: shape [{}] has a negative dimension", source, fmt::join(dims, ","));
    if (__builtin_mul_overflow(bytes, size, &bytes))
      fail("{}: shape [{}] takes more than 2^63 bytes", source, fmt::join(dims, ","));
    extent.elements *= size;
  }
  return extent;
}

}  // namespace hone::onnx
