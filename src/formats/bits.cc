#include "formats/bits.h"

#include <cstring>

#include "base/error.h"

namespace hone {
namespace {

uint32_t byte_at(const std::byte* p) { return static_cast<uint32_t>(*p); }

template <class T>
void write_whole(std::byte* dst, std::span<const uint32_t> codes) {
  for (size_t i = 0; i < codes.size(); ++i) {
    const T code = static_cast<T>(codes[i]);
    std::memcpy(dst + i * sizeof(T), &code, sizeof(T));
  }
}

template <class T>
void read_whole(const std::byte* src, std::span<uint32_t> codes) {
  for (size_t i = 0; i < codes.size(); ++i) {
    T code;
    std::memcpy(&code, src + i * sizeof(T), sizeof(T));
    codes[i] = code;
  }
}

// `first` is even.
void read_nibbles(const std::byte* src, std::span<uint32_t> codes) {
  const size_t pairs = codes.size() / 2;
  for (size_t i = 0; i < pairs; ++i) {
    codes[2 * i] = byte_at(src + i) & 15;
    codes[2 * i + 1] = byte_at(src + i) >> 4;
  }
  if (codes.size() % 2) codes.back() = byte_at(src + pairs) & 15;
}

}  // namespace

void write_codes(std::byte* dst, int width, std::span<const uint32_t> codes) {
  if (width == 8) return write_whole<uint8_t>(dst, codes);
  if (width == 16) return write_whole<uint16_t>(dst, codes);
  if (width == 32) return write_whole<uint32_t>(dst, codes);
  uint64_t pending = 0;  // `filled` low bits are not yet written; at most 7 + 32
  int filled = 0;
  for (const uint32_t code : codes) {
    pending |= uint64_t{code} << filled;
    for (filled += width; filled >= 8; filled -= 8, pending >>= 8) *dst++ = static_cast<std::byte>(pending);
  }
  if (filled > 0) *dst = static_cast<std::byte>(pending);
}

void read_codes(const std::byte* src, int width, int64_t first, std::span<uint32_t> codes) {
  CHECK(width >= 1 && width <= 32);
  const int64_t bit = first * width;
  src += bit / 8;
  int skip = static_cast<int>(bit % 8);
  if (width == 8) return read_whole<uint8_t>(src, codes);
  if (width == 16) return read_whole<uint16_t>(src, codes);
  if (width == 32) return read_whole<uint32_t>(src, codes);
  if (width == 4 && skip == 0) return read_nibbles(src, codes);
  const uint32_t mask = (1u << width) - 1;
  uint64_t pending = 0;
  int filled = -skip;  // bits of `pending` that belong to codes; negative while leading bits are to be dropped
  for (uint32_t& code : codes) {
    while (filled < width) {
      pending |= uint64_t{byte_at(src++)} << (filled + skip);
      filled += 8;
    }
    if (skip > 0) pending >>= skip, skip = 0;
    code = static_cast<uint32_t>(pending) & mask;
    pending >>= width;
    filled -= width;
  }
}

}  // namespace hone
