#include "ir/lying_bytes.h"

namespace hone {

std::span<const std::byte> lying_bytes(const Buffer& buffer) {
  if (const auto source = buffer.source(); source && source->mapped && !source->by_columns) return source->bytes;
  return buffer.bytes();
}

std::span<const std::byte> bytes_in_file(const Buffer& buffer) {
  if (buffer.is_mapped()) return buffer.bytes();
  const auto source = buffer.source();
  return source && source->mapped ? source->bytes : std::span<const std::byte>();
}

}  // namespace hone
