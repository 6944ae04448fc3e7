#include "ir/packer.h"

#include "base/error.h"

namespace hone {

Planes Packer::pack(const Format& format, std::span<const int64_t> shape, std::span<const float> values,
                    EncodeCounts* counts) const {
  return hone::pack(format, shape, values, counts);
}

void Packer::unpack(const Format& format, std::span<const int64_t> shape, const PlaneView& planes,
                    std::span<float> values) const {
  hone::unpack(format, shape, planes, values);
}

void Packer::fake_quantize(const Format& format, std::span<const int64_t> shape, std::span<const float> values,
                           std::span<float> out) const {
  hone::fake_quantize(format, shape, values, out);
}

Tensor Packer::pack(const Format& format, const Tensor& plain, EncodeCounts* counts) const {
  if (plain.is_packed() || !is_float(plain.dtype()))
    fail("only plain floating tensors can be packed as {}; found {}", to_string(format), to_string(plain.type()));
  if (const std::optional<DType> dtype = dtype_of_plain_format(format)) return plain.converted(*dtype);
  const Tensor floats = plain.converted(DType::f32);
  Planes planes = pack(format, plain.shape(), floats.as<float>(), counts);
  return Tensor::packed(format, plain.shape(), Buffer::copy_of(planes.codes), Buffer::copy_of(planes.scales),
                        Buffer::copy_of(planes.zero_points), Buffer::copy_of(planes.global));
}

Tensor Packer::unpack(const Tensor& tensor) const {
  if (!tensor.is_packed()) return tensor.converted(DType::f32);
  Tensor floats(DType::f32, tensor.shape());
  unpack(*tensor.format(), tensor.shape(), tensor.planes(), floats.mutable_as<float>());
  return floats;
}

}  // namespace hone
