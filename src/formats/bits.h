// Codes of W bits as one little-endian bit stream: code i in bits [i*W, (i+1)*W), bit 0 = lowest bit of byte 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hone {

inline int64_t stream_bytes(int64_t codes, int width) { return (codes * width + 7) / 8; }

// Writes codes from the start of `dst`; unused bits of the last byte become 0. 1 <= width <= 32.
void write_codes(std::byte* dst, int width, std::span<const uint32_t> codes);

// Reads codes `first`, `first` + 1, ... of the stream that starts at `src`; touches no byte beyond the last code's.
void read_codes(const std::byte* src, int width, int64_t first, std::span<uint32_t> codes);

}  // namespace hone
