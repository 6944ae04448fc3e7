#include "device/x86/machine.h"

#include <fmt/format.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <mutex>
#include <utility>

#include "device/llvm/generator_version.h"
#include "device/x86/emitter.h"

namespace hone {
namespace {

// Each feature as LLVM spells it, in their order.
constexpr std::pair<Feature, std::string_view> kSpelled[] = {
    {Feature::avx2, "+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+popcnt,+movbe"},
    {Feature::avx_vnni, ",+avxvnni"},
    {Feature::avx512, ",+avx512f,+avx512vl,+avx512bw,+avx512dq,+avx512cd,-prefer-256-bit"},
    {Feature::avx512_vbmi, ",+avx512vbmi"},
    {Feature::avx512_vbmi2, ",+avx512vbmi2"},
    {Feature::avx512_vnni, ",+avx512vnni"},
    {Feature::avx512_bf16, ",+avx512bf16"},
    {Feature::amx_bf16, ",+amx-tile,+amx-bf16"},
    {Feature::amx_int8, ",+amx-tile,+amx-int8"},
    {Feature::amx_emulated, ""},
    {Feature::vnni_emulated, ""}};
constexpr bool spells_all() {
  for (size_t i = 0; i < std::size(kSpelled); ++i)
    if (kSpelled[i].first != static_cast<Feature>(i)) return false;
  return std::size(kSpelled) == kFeatures;
}
static_assert(spells_all(), "every feature that code is generated for has its line");

// What the target has, beyond x86-64.
std::string llvm_features(const X86Target& target) {
  std::string text;
  for (const auto& [feature, spelled] : kSpelled)
    if (target.has(feature)) text += spelled;
  return text;
}

void initialise() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

}  // namespace

CodeMachine code_machine(const X86Target& target) {
  return {.triple = llvm::sys::getProcessTriple(),
          .cpu = target.avx512() ? "x86-64-v4" : "x86-64-v3",
          .features = llvm_features(target),
          .initialise = initialise,
          .make_emitter = [target](llvm::Module& module) { return std::make_unique<X86Emitter>(module, target); }};
}

std::string code_target(const X86Target& target) {
  return fmt::format("{} as {} with {} KB of second-level cache, llvm {}, generators {}", to_string(target.features()),
                     target.rates().name, target.l2_bytes() >> 10, llvm_version(), generator_version());
}

}  // namespace hone
