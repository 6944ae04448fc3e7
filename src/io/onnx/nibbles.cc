#include "io/onnx/nibbles.h"

namespace hone::onnx {

bool is_nibble(DType dtype) { return dtype == DType::i4 || dtype == DType::u4 || dtype == DType::f4e2m1; }

Buffer unpacked_nibbles(DType dtype, std::span<const std::byte> pairs, int64_t elements) {
  Buffer data(static_cast<size_t>(elements));
  const std::span<std::byte> out = data.mutable_bytes();
  for (size_t i = 0; i < out.size(); ++i) {
    const int nibble = std::to_integer<int>(pairs[i / 2]) >> (i % 2 * 4) & 15;
    out[i] = static_cast<std::byte>(dtype == DType::i4 && nibble >= 8 ? nibble - 16 : nibble);
  }
  return data;
}

std::string packed_nibbles(std::span<const std::byte> elements) {
  std::string pairs((elements.size() + 1) / 2, '\0');
  for (size_t i = 0; i < elements.size(); ++i)
    pairs[i / 2] = static_cast<char>(pairs[i / 2] | std::to_integer<int>(elements[i] & std::byte{15}) << (i % 2 * 4));
  return pairs;
}

}  // namespace hone::onnx
