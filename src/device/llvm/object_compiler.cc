#include "device/llvm/object_compiler.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Target/TargetMachine.h>

#include <mutex>

#include "base/error.h"
#include "device/llvm/emitter.h"

namespace hone {
namespace {

// Callee-saved registers, alignment of the frame and a few scalars; one spilled vector tile is far beyond.
constexpr uint64_t kFrameSlackBytes = 160;

// Passes of code generation that are left out. Loop strength reduction undoes the pointer walks that the generators
// write by hand; the others find nothing to do in hot loops of one block (bench_kernels with and without them: equal
// within its noise of 1 %) and together take a fifth of the compile time.
constexpr const char* kLeftOut[] = {"disable-lsr",
                                    "disable-cgp",
                                    "disable-constant-hoisting",
                                    "disable-machine-sink",
                                    "disable-copyprop",
                                    "disable-post-ra",
                                    "disable-early-taildup",
                                    "disable-branch-fold",
                                    "disable-tail-duplicate",
                                    "disable-postra-machine-licm"};

void leave_passes_out() {
  static std::once_flag once;
  std::call_once(once, [] {
    auto& options = llvm::cl::getRegisteredOptions();
    for (const char* name : kLeftOut)
      if (const auto found = options.find(name); found != options.end())
        static_cast<llvm::cl::opt<bool>*>(found->second)->setValue(true);
  });
}

uint64_t stack_wanted(const llvm::Function& function) {
  uint64_t bytes = 0;
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  for (const llvm::Instruction& instruction : function.getEntryBlock())
    if (const auto* slot = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
      bytes += slot->getAllocationSize(layout)->getFixedValue() + slot->getAlign().value();
  return bytes;
}

void note_spill(const llvm::DiagnosticInfo* info, void* spilled) {
  if (info->getKind() == llvm::DK_StackSize)
    static_cast<std::vector<std::string>*>(spilled)->push_back(
        llvm::cast<llvm::DiagnosticInfoResourceLimit>(info)->getFunction().getName().str());
}

}  // namespace

// The passes are set up once for all modules of a compiler: half a millisecond each otherwise.
struct Passes {
  Passes(llvm::TargetMachine& machine, llvm::CodeGenFileType type) : stream(out) {
    CHECK(!machine.addPassesToEmitFile(manager, stream, nullptr, type));
  }
  llvm::SmallVector<char, 0> out;
  llvm::raw_svector_ostream stream;
  llvm::legacy::PassManager manager;
};

struct ObjectCompiler::Impl {
  explicit Impl(CodeMachine m) : described(std::move(m)) {}

  const CodeMachine described;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<Passes> to_object;

  std::vector<std::string> run(const std::function<void(Emitter&)>& emit, Passes& passes) {
    std::vector<std::string> spilled;
    llvm::LLVMContext context;
    context.setDiscardValueNames(true);
    context.setDiagnosticHandlerCallBack(note_spill, &spilled);
    llvm::Module module("hone", context);
    module.setDataLayout(machine->createDataLayout());
    module.setTargetTriple(machine->getTargetTriple().str());
    const std::unique_ptr<Emitter> emitter = described.make_emitter(module);
    emit(*emitter);
    std::string fault;
    llvm::raw_string_ostream fault_stream(fault);
    CHECK(!llvm::verifyModule(module, &fault_stream), "{}", fault);
    for (llvm::Function& function : module)
      if (!function.isDeclaration() && !function.hasFnAttribute("warn-stack-size"))
        function.addFnAttr("warn-stack-size", std::to_string(stack_wanted(function) + kFrameSlackBytes));
    passes.out.clear();
    passes.manager.run(module);
    return spilled;
  }
};

ObjectCompiler::ObjectCompiler(CodeMachine m) : impl_(std::make_unique<Impl>(std::move(m))) {
  const CodeMachine& described = impl_->described;
  described.initialise();
  leave_passes_out();
  std::string reason;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(described.triple, reason);
  CHECK(target, "{}", reason);
  impl_->machine.reset(target->createTargetMachine(described.triple, described.cpu, described.features,
                                                   llvm::TargetOptions(), llvm::Reloc::PIC_, llvm::CodeModel::Small,
                                                   llvm::CodeGenOptLevel::Default, true));
  CHECK(impl_->machine != nullptr);
  impl_->to_object = std::make_unique<Passes>(*impl_->machine, llvm::CodeGenFileType::ObjectFile);
}

ObjectCompiler::~ObjectCompiler() = default;

ObjectCode ObjectCompiler::compile(const std::function<void(Emitter&)>& emit) {
  ObjectCode code;
  code.spilled = impl_->run(emit, *impl_->to_object);
  const auto bytes = std::as_bytes(std::span(impl_->to_object->out));
  code.bytes.assign(bytes.begin(), bytes.end());
  return code;
}

std::string ObjectCompiler::assembly(const std::function<void(Emitter&)>& emit) {
  Passes passes(*impl_->machine, llvm::CodeGenFileType::AssemblyFile);
  impl_->run(emit, passes);
  return {passes.out.data(), passes.out.size()};
}

std::string llvm_version() { return LLVM_VERSION_STRING; }

}  // namespace hone
