// What the CPU can do, from CPUID feature bits only, and the instruction-set levels that code is generated for.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

// Each level includes the ones before it. `avx512_bf16` also has VNNI and VBMI where the CPU has them (see
// CpuFeatures).
enum class IsaLevel { avx2, avx512, avx512_bf16 };

struct CpuFeatures {
  bool avx2 = false, fma = false, f16c = false;
  bool avx512 = false;  // F, BW, VL, DQ, CD and the operating system saves the registers
  bool avx512_bf16 = false, avx512_vnni = false, avx512_vbmi = false, avx512_vbmi2 = false;
  bool amx_bf16 = false, amx_int8 = false;
};

const CpuFeatures& cpu_features();
std::string cpu_name();  // for reports only; never for decisions

std::vector<IsaLevel> available_isa_levels();     // lowest first; empty when the CPU lacks AVX2 and FMA
IsaLevel best_isa_level();                        // throws Error when there is none
std::string_view to_string(IsaLevel level);       // "avx2" "avx512" "avx512_bf16"
IsaLevel parse_isa_level(std::string_view text);  // throws Error for unknown names and for levels that this CPU lacks

// Features as LLVM spells them ("+avx2,+fma,…") for code of `level` on this machine.
std::string llvm_features(IsaLevel level);

}  // namespace hone
