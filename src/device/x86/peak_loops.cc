// 24 (AVX-512) or 12 (AVX2) independent chains hide a latency of four cycles on two ports (8 would do) and leave
// registers for the factors 0.999 and 0.001, which keep the values normal.
#include "device/x86/peak_loops.h"

#if defined(__x86_64__)

#define HONE_CHAINS_12(F) F("0") F("1") F("2") F("3") F("4") F("5") F("6") F("7") F("8") F("9") F("10") F("11")
#define HONE_CHAINS_24(F) \
  HONE_CHAINS_12(F) F("12") F("13") F("14") F("15") F("16") F("17") F("18") F("19") F("20") F("21") F("22") F("23")
#define HONE_LOW_REGISTERS \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13"
#define HONE_HIGH_REGISTERS \
  "xmm14", "xmm15", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25"

namespace hone {
namespace {

constexpr float kFactor = 0.999f, kAddend = 0.001f;

__attribute__((target("avx2,fma"))) void f32_avx2(int64_t steps) {
#define HONE_ZERO(r) "vxorps %%ymm" r ",%%ymm" r ",%%ymm" r "\n"
#define HONE_FMA(r) "vfmadd213ps %%ymm13,%%ymm12,%%ymm" r "\n"
  asm volatile(HONE_CHAINS_12(HONE_ZERO) "vbroadcastss %1,%%ymm12\n vbroadcastss %2,%%ymm13\n"
               "1:\n" HONE_CHAINS_12(HONE_FMA) "dec %0\n jnz 1b\n vzeroupper\n"
               : "+r"(steps) : "m"(kFactor), "m"(kAddend) : "cc", HONE_LOW_REGISTERS);
#undef HONE_ZERO
#undef HONE_FMA
}

#define HONE_ZERO(r) "vpxord %%zmm" r ",%%zmm" r ",%%zmm" r "\n"
__attribute__((target("avx512f"))) void f32_avx512(int64_t steps) {
#define HONE_FMA(r) "vfmadd213ps %%zmm25,%%zmm24,%%zmm" r "\n"
  asm volatile(HONE_CHAINS_24(HONE_ZERO) "vbroadcastss %1,%%zmm24\n vbroadcastss %2,%%zmm25\n"
               "1:\n" HONE_CHAINS_24(HONE_FMA) "dec %0\n jnz 1b\n vzeroupper\n"
               : "+r"(steps) : "m"(kFactor), "m"(kAddend) : "cc", HONE_LOW_REGISTERS, HONE_HIGH_REGISTERS);
#undef HONE_FMA
}

// The bit pattern of kAddend read as two bf16 numbers is small and normal, so sums stay finite for any number of steps.
__attribute__((target("avx512f"))) void bf16_avx512(int64_t steps) {
#define HONE_DOT(r) "vdpbf16ps %%zmm25,%%zmm25,%%zmm" r "\n"
  asm volatile(HONE_CHAINS_24(HONE_ZERO) "vbroadcastss %1,%%zmm25\n"
               "1:\n" HONE_CHAINS_24(HONE_DOT) "dec %0\n jnz 1b\n vzeroupper\n"
               : "+r"(steps) : "m"(kAddend) : "cc", HONE_LOW_REGISTERS, HONE_HIGH_REGISTERS);
#undef HONE_DOT
}

// Sums wrap around, which costs nothing.
__attribute__((target("avx512f"))) void int8_avx512(int64_t steps) {
#define HONE_DOT(r) "vpdpbusd %%zmm25,%%zmm25,%%zmm" r "\n"
  asm volatile(HONE_CHAINS_24(HONE_ZERO) "vbroadcastss %1,%%zmm25\n"
               "1:\n" HONE_CHAINS_24(HONE_DOT) "dec %0\n jnz 1b\n vzeroupper\n"
               : "+r"(steps) : "m"(kAddend) : "cc", HONE_LOW_REGISTERS, HONE_HIGH_REGISTERS);
#undef HONE_DOT
}
#undef HONE_ZERO

__attribute__((target("avx2"))) void int8_avx2(int64_t steps) {
#define HONE_ZERO(r) "vpxor %%ymm" r ",%%ymm" r ",%%ymm" r "\n"
#define HONE_DOT(r) "%{vex%} vpdpbusd %%ymm13,%%ymm13,%%ymm" r "\n"
  asm volatile(HONE_CHAINS_12(HONE_ZERO) "vpbroadcastd %1,%%ymm13\n"
               "1:\n" HONE_CHAINS_12(HONE_DOT) "dec %0\n jnz 1b\n vzeroupper\n"
               : "+r"(steps) : "m"(kAddend) : "cc", HONE_LOW_REGISTERS);
#undef HONE_ZERO
#undef HONE_DOT
}

// Two by two tiles, as products have them: four loads and four products a step. The clock follows the data, which
// therefore are no zeros.
struct alignas(64) TileOperands {
  uint8_t config[64] = {};
  uint32_t a[2][16][16], b[2][16][16];
  explicit TileOperands(uint32_t bits) {
    config[0] = 1;
    for (int tile = 0; tile < 8; ++tile) config[16 + 2 * tile] = 64, config[48 + tile] = 16;
    for (auto* tiles : {&a, &b})
      for (auto& tile : *tiles)
        for (auto& row : tile)
          for (uint32_t& word : row) word = bits;
  }
};
#define HONE_TILES(name, dot, bits)                                                                           \
  void name(int64_t steps) {                                                                                  \
    static const TileOperands operands(bits);                                                                 \
    asm volatile(                                                                                             \
        "ldtilecfg %[config]\n"                                                                               \
        "1:\n tileloadd (%[a],%[stride],1),%%tmm4\n tileloadd (%[b],%[stride],1),%%tmm6\n" dot                \
        " %%tmm6,%%tmm4,%%tmm0\n tileloadd 1024(%[b],%[stride],1),%%tmm7\n" dot                               \
        " %%tmm7,%%tmm4,%%tmm1\n tileloadd 1024(%[a],%[stride],1),%%tmm5\n" dot " %%tmm6,%%tmm5,%%tmm2\n" dot \
        " %%tmm7,%%tmm5,%%tmm3\n dec %[steps]\n jnz 1b\n tilerelease\n"                                       \
        : [steps] "+r"(steps)                                                                                 \
        : [config] "m"(operands), [a] "r"(operands.a), [b] "r"(operands.b), [stride] "r"(int64_t{64})         \
        : "cc");                                                                                              \
  }
HONE_TILES(bf16_tiles, "tdpbf16ps", 0x3c003c01)  // small normal numbers: sums stay finite
HONE_TILES(int8_tiles, "tdpbusd", 0x01030507)
#undef HONE_TILES

__attribute__((target("avx2"))) void read_avx2(const std::byte* data, size_t bytes) {
  const std::byte* end = data + bytes;
#define HONE_LOAD(offset, r) "vmovdqa " offset "(%0),%%ymm" r "\n"
  asm volatile("1:\n" HONE_LOAD("0", "0") HONE_LOAD("32", "1") HONE_LOAD("64", "2") HONE_LOAD("96", "3")
                   HONE_LOAD("128", "4") HONE_LOAD("160", "5") HONE_LOAD("192", "6")
                       HONE_LOAD("224", "7") "add $256,%0\n cmp %1,%0\n jb 1b\n vzeroupper\n"
               : "+r"(data)
               : "r"(end)
               : "cc", "memory", HONE_LOW_REGISTERS);
#undef HONE_LOAD
}

__attribute__((target("avx512f"))) void read_avx512(const std::byte* data, size_t bytes) {
  const std::byte* end = data + bytes;
#define HONE_LOAD(offset, r) "vmovdqa64 " offset "(%0),%%zmm" r "\n"
  asm volatile("1:\n" HONE_LOAD("0", "0") HONE_LOAD("64", "1") HONE_LOAD("128", "2") HONE_LOAD("192", "3")
                   HONE_LOAD("256", "4") HONE_LOAD("320", "5") HONE_LOAD("384", "6")
                       HONE_LOAD("448", "7") "add $512,%0\n cmp %1,%0\n jb 1b\n vzeroupper\n"
               : "+r"(data)
               : "r"(end)
               : "cc", "memory", HONE_LOW_REGISTERS);
#undef HONE_LOAD
}

}  // namespace

ArithmeticLoop f32_loop(Features cpu) {
  if (cpu.has(Feature::avx512)) return {f32_avx512, 24 * 16 * 2};
  if (cpu.has(Feature::avx2)) return {f32_avx2, 12 * 8 * 2};
  return {};
}

ArithmeticLoop bf16_loop(Features cpu) {
  if (cpu.has(Feature::avx512_bf16)) return {bf16_avx512, 24 * 32 * 2};
  return {};
}

ArithmeticLoop int8_loop(Features cpu) {
  if (cpu.has(Feature::avx512_vnni)) return {int8_avx512, 24 * 64 * 2};
  if (cpu.has(Feature::avx_vnni)) return {int8_avx2, 12 * 32 * 2};
  return {};
}

constexpr double kTileProducts = 4 * 16 * 16 * 16;  // of 32-bit words in a step

ArithmeticLoop bf16_tile_loop(Features cpu) {
  if (cpu.has(Feature::amx_bf16)) return {bf16_tiles, 2 * kTileProducts * 2};
  return {};
}

ArithmeticLoop int8_tile_loop(Features cpu) {
  if (cpu.has(Feature::amx_int8)) return {int8_tiles, 4 * kTileProducts * 2};
  return {};
}

ReadLoop read_loop(Features cpu) {
  return cpu.has(Feature::avx512) ? read_avx512 : cpu.has(Feature::avx2) ? read_avx2 : nullptr;
}

}  // namespace hone

#else

namespace hone {

ArithmeticLoop f32_loop(Features) { return {}; }
ArithmeticLoop bf16_loop(Features) { return {}; }
ArithmeticLoop int8_loop(Features) { return {}; }
ArithmeticLoop bf16_tile_loop(Features) { return {}; }
ArithmeticLoop int8_tile_loop(Features) { return {}; }
ReadLoop read_loop(Features) { return nullptr; }

}  // namespace hone

#endif
