#include "io/onnx/packed_elements.h"

#include "base/checked.h"

namespace hone::onnx {

int packed_bits(DType dtype) {
  switch (dtype) {
    case DType::i2:
    case DType::u2:
      return 2;
    case DType::i4:
    case DType::u4:
    case DType::f4e2m1:
      return 4;
    case DType::f6e2m3:
    case DType::f6e3m2:
      return 6;
    default:
      return 0;
  }
}

int64_t packed_bytes(DType dtype, int64_t elements) {
  const int bits = packed_bits(dtype);
  if (bits == 0) return checked_mul(elements, size_bytes(dtype));
  return elements / 8 * bits + (elements % 8 * bits + 7) / 8;
}

Buffer unpacked_elements(DType dtype, std::span<const std::byte> packed, int64_t elements) {
  const auto bits = static_cast<size_t>(packed_bits(dtype));
  const int mask = (1 << bits) - 1, sign = is_integer(dtype) && is_signed(compute_scalar(dtype)) ? 1 << (bits - 1) : 0;
  Buffer data(static_cast<size_t>(elements));
  const std::span<std::byte> out = data.mutable_bytes();
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t at = i * bits / 8, shift = i * bits % 8;
    int code = std::to_integer<int>(packed[at]) >> shift;
    if (shift + bits > 8) code |= std::to_integer<int>(packed[at + 1]) << (8 - shift);
    out[i] = static_cast<std::byte>(((code & mask) ^ sign) - sign);
  }
  return data;
}

std::string packed_elements(DType dtype, std::span<const std::byte> elements) {
  const auto bits = static_cast<size_t>(packed_bits(dtype));
  const int mask = (1 << bits) - 1;
  std::string packed(static_cast<size_t>(packed_bytes(dtype, static_cast<int64_t>(elements.size()))), '\0');
  const auto put = [&](size_t at, int value) { packed[at] = static_cast<char>(packed[at] | value); };
  for (size_t i = 0; i < elements.size(); ++i) {
    const size_t at = i * bits / 8, shift = i * bits % 8;
    const int code = std::to_integer<int>(elements[i]) & mask;
    put(at, code << shift & 255);
    if (shift + bits > 8) put(at + 1, code >> (8 - shift));
  }
  return packed;
}

}  // namespace hone::onnx
