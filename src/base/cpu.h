// What the CPU can do, from CPUID and what the operating system saves.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hone {

// What code may ask of a CPU beyond x86-64. `avx2` comes with FMA, F16C and BMI, `avx512` with F, BW, CD, DQ and VL,
// the two of AMX with its tiles: no CPU has one without the others. No CPU has the last two: with `amx_emulated` code
// calls software in place of instructions of AMX (device/x86/amx/tile_registers.h), with `vnni_emulated` code that
// multiplies bytes is that of VNNI with other instructions in place of its own: the same results on any CPU (for
// tests).
enum class Feature : uint8_t {
  avx2,
  avx_vnni,
  avx512,
  avx512_vbmi,
  avx512_vbmi2,
  avx512_vnni,
  avx512_bf16,
  amx_bf16,
  amx_int8,
  amx_emulated,
  vnni_emulated
};
inline constexpr int kFeatures = 11;
std::string_view to_string(Feature feature);  // "avx_vnni"

class Features {
 public:
  constexpr Features() = default;
  constexpr bool has(Feature f) const { return bits_ >> static_cast<int>(f) & 1; }
  constexpr bool has_all_of(Features other) const { return (bits_ & other.bits_) == other.bits_; }
  Features with(Feature f) const;     // and what `f` builds on: avx512_bf16 brings avx512, that brings avx2
  Features without(Feature f) const;  // nor what builds on `f`
  constexpr uint32_t bits() const { return bits_; }
  constexpr bool operator==(const Features&) const = default;

 private:
  uint32_t bits_ = 0;
};
std::string to_string(Features features);  // "avx2 avx_vnni avx512"

// Of the CPU this runs on, as far as the operating system lets this process use them, less what the environment hides:
// HONE_WITHOUT=avx512,avx_vnni, nor what builds on those. Error: HONE_WITHOUT names no feature.
Features cpu_features();
Features usable_features();                // those, and what software stands in for
std::string why_lacking(Feature feature);  // "this CPU lacks amx_bf16"; where it is the system that refuses, its words
std::string why_without_tiles(int error);  // what that error of Linux means, when it is asked for tiles
std::string cpu_name();                    // for reports only; never for decisions

// Who made the CPU and which of theirs it is, as CPUID says: for tables of rates, which are hints.
struct CpuModel {
  std::string vendor;  // "GenuineIntel" "AuthenticAMD"
  int family = 0, model = 0;
};
const CpuModel& cpu_model();

// Of the data caches of one core, and of the last level that it shares; 0 where the system does not say.
struct CacheSizes {
  int64_t l1_bytes = 0, l2_bytes = 0, l3_bytes = 0;
  bool operator==(const CacheSizes&) const = default;
};
const CacheSizes& cache_sizes();

}  // namespace hone
