#include "base/cpu.h"

#include <cpuid.h>

#include <cstdint>
#include <cstring>

#include "base/error.h"
#include "base/text.h"

namespace hone {
namespace {

struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(unsigned leaf, unsigned subleaf = 0) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

bool bit(unsigned word, int position) { return word >> position & 1; }

// XCR0: which register files the operating system saves.
uint64_t saved_state() {
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

CpuFeatures detect() {
  CpuFeatures f;
  const Registers basic = cpuid(1), extended = cpuid(7, 0), more = cpuid(7, 1);
  if (!bit(basic.ecx, 27)) return f;  // no OSXSAVE
  const uint64_t state = saved_state();
  const bool ymm = (state & 0x6) == 0x6, zmm = (state & 0xe6) == 0xe6, tiles = (state & 0x60000) == 0x60000;
  f.avx2 = ymm && bit(extended.ebx, 5);
  f.fma = ymm && bit(basic.ecx, 12);
  f.f16c = ymm && bit(basic.ecx, 29);
  f.avx512 = zmm && f.avx2 && f.fma && bit(extended.ebx, 16) && bit(extended.ebx, 17) && bit(extended.ebx, 28) &&
             bit(extended.ebx, 30) && bit(extended.ebx, 31);
  f.avx512_vbmi = f.avx512 && bit(extended.ecx, 1);
  f.avx512_vbmi2 = f.avx512 && bit(extended.ecx, 6);
  f.avx512_vnni = f.avx512 && bit(extended.ecx, 11);
  f.avx512_bf16 = f.avx512 && bit(more.eax, 5);
  f.amx_bf16 = tiles && bit(extended.edx, 22) && bit(extended.edx, 24);
  f.amx_int8 = tiles && bit(extended.edx, 25) && bit(extended.edx, 24);
  return f;
}

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

std::string cpu_name() {
  char name[49] = {};
  for (unsigned i = 0; i < 3; ++i) {
    const Registers r = cpuid(0x80000002 + i);
    std::memcpy(name + 16 * i, &r, 16);
  }
  return std::string(trim(name));
}

std::vector<IsaLevel> available_isa_levels() {
  std::vector<IsaLevel> levels;
  const CpuFeatures& f = cpu_features();
  if (f.avx2 && f.fma) levels.push_back(IsaLevel::avx2);
  if (f.avx512) levels.push_back(IsaLevel::avx512);
  if (f.avx512_bf16) levels.push_back(IsaLevel::avx512_bf16);
  return levels;
}

IsaLevel best_isa_level() {
  const std::vector<IsaLevel> levels = available_isa_levels();
  if (levels.empty())
    fail("this CPU ({}) lacks AVX2 or FMA, which compiled code needs; use --backend reference", cpu_name());
  return levels.back();
}

std::string_view to_string(IsaLevel level) {
  switch (level) {
    case IsaLevel::avx2:
      return "avx2";
    case IsaLevel::avx512:
      return "avx512";
    case IsaLevel::avx512_bf16:
      return "avx512_bf16";
  }
  CHECK(false);
}

IsaLevel parse_isa_level(std::string_view text) {
  std::string available;
  for (IsaLevel level : available_isa_levels()) {
    if (text == to_string(level)) return level;
    available += fmt::format("{}{}", available.empty() ? "" : ", ", to_string(level));
  }
  fail("isa '{}' is unknown or not available on this CPU; available: {}", text, available);
}

std::string llvm_features(IsaLevel level) {
  const CpuFeatures& f = cpu_features();
  std::string text = "+avx,+avx2,+fma,+bmi,+bmi2,+lzcnt,+popcnt,+movbe";
  if (f.f16c) text += ",+f16c";
  if (level >= IsaLevel::avx512) {
    text += ",+avx512f,+avx512vl,+avx512bw,+avx512dq,+avx512cd,-prefer-256-bit";
    if (f.avx512_vbmi) text += ",+avx512vbmi";
    if (f.avx512_vbmi2) text += ",+avx512vbmi2";
    if (f.avx512_vnni) text += ",+avx512vnni";
  }
  if (level >= IsaLevel::avx512_bf16) text += ",+avx512bf16";
  return text;
}

}  // namespace hone
