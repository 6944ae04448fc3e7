#include "device/x86/byte_table.h"

#include <immintrin.h>

#include "base/cpu.h"

namespace hone {
namespace {

// 64 bytes at a time: a permute of two registers looks up 128 entries, and the index's top bit chooses the half.
// Returns how many bytes were done.
__attribute__((target("avx512f,avx512bw,avx512vbmi"))) int64_t translate_vectors(const ByteTable& table,
                                                                                 const std::byte* from, int64_t count,
                                                                                 std::byte* to) {
  const auto quarter = [&](int i) __attribute__((target("avx512f,avx512bw,avx512vbmi"))) {
    return _mm512_loadu_si512(table.data() + i * 64);
  };
  const __m512i a = quarter(0), b = quarter(1), c = quarter(2), d = quarter(3);
  int64_t i = 0;
  for (; i + 64 <= count; i += 64) {
    const __m512i codes = _mm512_loadu_si512(from + i);
    const __m512i low = _mm512_permutex2var_epi8(a, codes, b), high = _mm512_permutex2var_epi8(c, codes, d);
    _mm512_storeu_si512(to + i, _mm512_mask_blend_epi8(_mm512_movepi8_mask(codes), low, high));
  }
  return i;
}

}  // namespace

void translate(const ByteTable& table, const std::byte* from, int64_t count, std::byte* to) {
  int64_t i = cpu_features().has(Feature::avx512_vbmi) ? translate_vectors(table, from, count, to) : 0;
  for (; i < count; ++i) to[i] = std::byte{table[std::to_integer<size_t>(from[i])]};
}

}  // namespace hone
