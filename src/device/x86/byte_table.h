// A table of 256 bytes applied to a run of bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace hone {

using ByteTable = std::array<uint8_t, 256>;

// to[i] = table[from[i]], i < count; the two may be the same.
void translate(const ByteTable& table, const std::byte* from, int64_t count, std::byte* to);

}  // namespace hone
