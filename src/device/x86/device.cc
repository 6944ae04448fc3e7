#include "device/x86/device.h"

#include <algorithm>

#include "base/stop.h"
#include "base/threads.h"
#include "device/llvm/object_cache.h"
#include "device/x86/compiled_packer.h"
#include "device/x86/compiler.h"
#include "device/x86/machine.h"
#include "device/x86/peak_loops.h"
#include "device/x86/peaks.h"
#include "device/x86/registry.h"

namespace hone {
namespace {

// The chunks of a call on one thread, so that it can be stopped: tens of milliseconds of work.
constexpr int64_t kChunksAtOnce = 1024;

// LLVM with a target opened, the pages of it that compiling touches included, and what the compiler of a thread keeps.
// Twice what encoders and convolutional networks of 13 to 60 kernels were seen to take (bench/memory_bound.py).
constexpr int64_t kCompilerBytes = int64_t{32} << 20, kThreadBytes = int64_t{8} << 20,
                  kKernelBytes = int64_t{128} << 10;

class CpuQueue : public HostQueue {
 public:
  void launch(Code code, const KernelArgs& args, const Launch& call, std::span<std::byte* const> scratch) override {
    const KernelFn kernel = function_of(code);
    const int64_t items = call.items, chunk_items = call.items_per_chunk;
    if (scratch.size() == 1 || items <= chunk_items) {
      const int64_t at_once = std::max<int64_t>(chunk_items, 1) * kChunksAtOnce;
      for (int64_t begin = 0; begin < items; begin += at_once) {
        check_stop();
        kernel(&args, begin, std::min(items, begin + at_once), scratch[0]);
      }
      return;
    }
    auto chunk = [&](int64_t begin, int64_t end, int thread) {
      kernel(&args, begin, end, scratch[static_cast<size_t>(thread)]);
    };
    parallel_chunks(items, chunk_items, static_cast<int>(scratch.size()), chunk);
  }
};

double MachinePeaks::*peak_of(const DotUnit& unit) {
  if (unit.m > 1) return unit.a == DType::bf16 ? &MachinePeaks::bf16_tile_gflops : &MachinePeaks::int8_tile_gops;
  if (unit.a == DType::f32) return &MachinePeaks::f32_gflops;
  return unit.a == DType::bf16 ? &MachinePeaks::bf16_gflops : &MachinePeaks::int8_gops;
}

// `--isa`'s text, for a target that this CPU has.
X86Target usable_target(std::string_view variant) { return variant.empty() ? host_target() : parse_target(variant); }

}  // namespace

const X86KernelDef* device_x86::find(const KernelDef& kernel) {
  static const ImplementationTable<X86KernelDef> known("x86", all());
  return known.find(kernel);
}

std::unique_ptr<Queue> X86Device::make_queue() { return std::make_unique<CpuQueue>(); }
const KernelImplementation* X86Device::find(const KernelDef& kernel) const { return device_x86::find(kernel); }
std::unique_ptr<Compiler> X86Device::make_compiler(const CompilerOptions& options) {
  return std::make_unique<X86Compiler>(target_, options);
}
std::string X86Device::code_key(const KernelPlan& plan) const {
  return object_key(plan.text(), code_target(target_)).hex();
}
int64_t X86Device::compile_bytes(int threads, int64_t kernels) const {
  return kCompilerBytes + kThreadBytes * threads + kKernelBytes * kernels;
}
std::shared_ptr<const Packer> X86Device::make_packer(const CompilerOptions& options) {
  return std::make_shared<CompiledPacker>(target_, options);
}

std::optional<MachinePeaks> X86Device::measure_peaks() { return measure_cpu_peaks(); }

UnitRates X86Device::units() const {
  UnitRates rates{.source = std::string(target_.rates().name), .units = {}};
  for (const DotUnit& unit : target_.units())
    rates.units.push_back({std::string(unit.name),
                           fmt::format("{} × {} + {}", to_string(unit.a), to_string(unit.b), to_string(unit.sum)),
                           int64_t{unit.m} * unit.n * unit.k, unit.rate, peak_of(unit)});
  return rates;
}

std::vector<std::string> X86Device::notes() const {
  const std::string why = why_lacking(Feature::amx_bf16);
  if (why.find("operating system") == std::string::npos) return {};
  return {fmt::format("This CPU has AMX, but {}.", why)};
}

extern constinit const DeviceDef cpu_device_def{
    .name = "cpu",
    .doc = "compiled code",
    .variants =
        "Instruction set to generate code for: avx2, avx512, avx512_bf16, amx or host, then +feature or -feature, as "
        "in avx2+avx_vnni, host-amx_bf16, host+amx_emulated",
    .example = "avx512",
    .facts = []() -> DeviceFacts {
      return {{"Features", to_string(cpu_features())}};
    },
    .busy_loop = [] { return f32_loop(cpu_features()); },
    .open = [](std::string_view variant) -> std::shared_ptr<Device> {
      return std::make_shared<X86Device>(usable_target(variant));
    }};

}  // namespace hone
