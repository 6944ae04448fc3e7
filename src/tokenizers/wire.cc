#include "tokenizers/wire.h"

#include <cstring>

#include "base/error.h"

namespace hone {

std::string_view WireReader::take(uint64_t bytes) {
  if (bytes > rest_.size()) fail("{}: a field of {} bytes, and {} are left", source_, bytes, rest_.size());
  const std::string_view taken = rest_.substr(0, bytes);
  rest_.remove_prefix(bytes);
  return taken;
}

uint64_t WireReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(take(1)[0]);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  fail("{}: a number of more than ten bytes", source_);
}

bool WireReader::next(WireField& field) {
  if (rest_.empty()) return false;
  const uint64_t tag = varint();
  field = {.number = tag >> 3};
  const auto fixed = [&](size_t bytes) { std::memcpy(&field.value, take(bytes).data(), bytes); };
  switch (tag & 7) {
    case 0:
      field.value = varint();
      return true;
    case 1:
      fixed(8);
      return true;
    case 2:
      field.bytes = take(varint());
      return true;
    case 5:
      fixed(4);
      return true;
    default:
      fail("{}: a field of wire type {}; expected a message of protocol buffers", source_, tag & 7);
  }
}

}  // namespace hone
