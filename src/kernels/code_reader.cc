#include "kernels/code_reader.h"

#include <immintrin.h>

#include <cstring>

#include "base/error.h"

namespace hone {
namespace {

uint64_t load_word(const std::byte* p) {
  uint64_t word;
  std::memcpy(&word, p, 8);
  return word;
}

// One code from at most five bytes.
uint32_t read_one(std::span<const std::byte> plane, int64_t bit, int bits) {
  const size_t first = static_cast<size_t>(bit / 8), last = static_cast<size_t>((bit + bits - 1) / 8);
  uint64_t word = 0;
  for (size_t i = last + 1; i-- > first;) word = word << 8 | std::to_integer<uint64_t>(plane[i]);
  return static_cast<uint32_t>(word >> (bit % 8) & ((uint64_t{1} << bits) - 1));
}

// Eight-byte windows as long as they end inside the plane; each gives as many whole codes as it holds.
template <class T>
void read(std::span<const std::byte> plane, int64_t bit, int bits, std::span<T> out) {
  CHECK(out.empty() || bit + static_cast<int64_t>(out.size()) * bits <= static_cast<int64_t>(plane.size()) * 8);
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  const int per_word = 57 / bits;
  size_t i = 0;
  while (i + static_cast<size_t>(per_word) <= out.size() && bit / 8 + 8 <= static_cast<int64_t>(plane.size())) {
    uint64_t word = load_word(plane.data() + bit / 8) >> (bit % 8);
    for (int j = 0; j < per_word; ++j, word >>= bits) out[i++] = static_cast<T>(word & mask);
    bit += int64_t{per_word} * bits;
  }
  for (; i < out.size(); ++i, bit += bits) out[i] = static_cast<T>(read_one(plane, bit, bits));
}

// Eight codes of `bits` < 8 at a time; the rest is left to read(). Returns how many were read.
__attribute__((target("bmi2"))) size_t read_eights(std::span<const std::byte> plane, int64_t bit, int bits,
                                                   std::span<uint8_t> out) {
  const uint64_t mask = ((uint64_t{1} << bits) - 1) * 0x0101010101010101;
  size_t i = 0;
  for (; i + 8 <= out.size() && bit / 8 + 8 <= static_cast<int64_t>(plane.size()); i += 8, bit += 8 * bits) {
    const uint64_t codes = _pdep_u64(load_word(plane.data() + bit / 8) >> (bit % 8), mask);
    std::memcpy(out.data() + i, &codes, 8);
  }
  return i;
}

}  // namespace

void read_codes(std::span<const std::byte> plane, int64_t first_bit, int bits, std::span<uint8_t> out) {
  if (bits == 8 && first_bit % 8 == 0) {
    CHECK(first_bit / 8 + static_cast<int64_t>(out.size()) <= static_cast<int64_t>(plane.size()));
    if (!out.empty()) std::memcpy(out.data(), plane.data() + first_bit / 8, out.size());
    return;
  }
  // A window of 64 bits holds eight codes of up to 7 bits wherever in its first byte they start: 7 + 8 * 7 = 63.
  const size_t done = bits < 8 && __builtin_cpu_supports("bmi2") ? read_eights(plane, first_bit, bits, out) : 0;
  read(plane, first_bit + static_cast<int64_t>(done) * bits, bits, out.subspan(done));
}

void read_codes(std::span<const std::byte> plane, int64_t first_bit, int bits, std::span<uint32_t> out) {
  read(plane, first_bit, bits, out);
}

}  // namespace hone
