#include "device/cuda/machine.h"

#include <fmt/format.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar.h>

#include <mutex>

#include "device/cuda/emitter.h"
#include "device/llvm/generator_version.h"

extern "C" {  // of LLVM's archives LLVMNVPTX*
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace hone {
namespace {

void initialise() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

// What the driver's compiler does not do: functions become part of kernels, slots on the stack and pointers of unknown
// spaces go, and addresses are computed once. Loops stay as they are emitted. Spaces come first: other passes drop the
// pairs of casts that tell of them.
void add_passes(llvm::legacy::PassManagerBase& passes) {
  passes.add(llvm::createAlwaysInlinerLegacyPass());
  passes.add(llvm::createSROAPass());
  passes.add(llvm::createInferAddressSpacesPass());
  passes.add(llvm::createEarlyCSEPass(true));
  passes.add(llvm::createInstructionCombiningPass());
  passes.add(llvm::createCFGSimplificationPass());
  passes.add(llvm::createLICMPass());
  passes.add(llvm::createEarlyCSEPass(true));
  passes.add(llvm::createInstructionCombiningPass());
  passes.add(llvm::createDeadCodeEliminationPass());
}

}  // namespace

// The oldest PTX that an architecture is in comes by the emitter, which knows what was emitted.
CodeMachine code_machine(const CudaTarget& target) {
  return {.triple = "nvptx64-nvidia-cuda",
          .cpu = fmt::format("sm_{}", target.sm()),
          .features = "",
          .initialise = initialise,
          .make_emitter =
              [target](llvm::Module& module) { return std::make_unique<CudaEmitter>(module, target, 1, kWarp); },
          .text = true,
          .add_passes = add_passes};
}

std::string code_target(const CudaTarget& target) {
  return fmt::format(
      "sm_{} with {} multiprocessors, {} KB of shared memory, {} KB of second-level cache, llvm {}, "
      "generators {}",
      target.capability(), target.multiprocessors(), target.shared_bytes() >> 10, target.l2_bytes() >> 10,
      llvm_version(), generator_version());
}

}  // namespace hone
