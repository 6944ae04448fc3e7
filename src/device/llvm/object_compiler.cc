#include "device/llvm/object_compiler.h"

#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Target/TargetMachine.h>

#include <map>
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

struct Passes {
  Passes(llvm::TargetMachine& machine, const CodeMachine& described, llvm::CodeGenFileType type) : stream(out) {
    if (described.add_passes) {
      manager.add(llvm::createTargetTransformInfoWrapperPass(machine.getTargetIRAnalysis()));
      described.add_passes(manager);
    }
    CHECK(!machine.addPassesToEmitFile(manager, stream, nullptr, type));
  }
  llvm::SmallVector<char, 0> out;
  llvm::raw_svector_ostream stream;
  llvm::legacy::PassManager manager;
};

// What makes code of modules that need the same features.
struct Backend {
  Backend(const CodeMachine& described, const std::string& needed) {
    std::string reason, features = described.features;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(described.triple, reason);
    CHECK(target, "{}", reason);
    if (!needed.empty()) features += (features.empty() ? "" : ",") + needed;
    machine.reset(target->createTargetMachine(described.triple, described.cpu, features, llvm::TargetOptions(),
                                              llvm::Reloc::PIC_, llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default,
                                              true));
    CHECK(machine != nullptr);
  }
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<Passes> passes;  // of the module before
};
using Backends = std::map<std::string, Backend>;  // by the features that they have beside the machine's

struct ObjectCompiler::Impl {
  explicit Impl(CodeMachine m) : described(std::move(m)) {}

  const CodeMachine described;
  Backends to_object, to_text;

  Backend& backend(const std::string& needed, bool text) {
    Backends& all = text ? to_text : to_object;
    return all.try_emplace(needed, described, needed).first->second;
  }

  // Passes are set up once for all modules of one kind: half a millisecond each otherwise. A printer of PTX is used
  // once: LLVM's keeps what it knows of a module's variables by the addresses of functions, which later modules reuse.
  Passes& passes_of(Backend& backend, bool text) {
    if (!backend.passes || described.text)
      backend.passes = std::make_unique<Passes>(
          *backend.machine, described, text ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile);
    return *backend.passes;
  }

  ObjectCode run(const std::function<void(Emitter&)>& emit, bool text) {
    ObjectCode code;
    llvm::LLVMContext context;
    context.setDiscardValueNames(true);
    context.setDiagnosticHandlerCallBack(note_spill, &code.spilled);
    llvm::Module module("hone", context);
    const llvm::TargetMachine& any = *backend("", text).machine;
    module.setDataLayout(any.createDataLayout());
    module.setTargetTriple(any.getTargetTriple().str());
    const std::unique_ptr<Emitter> emitter = described.make_emitter(module);
    emit(*emitter);
    std::string fault;
    llvm::raw_string_ostream fault_stream(fault);
    CHECK(!llvm::verifyModule(module, &fault_stream), "{}", fault);
    for (llvm::Function& function : module)
      if (!function.isDeclaration() && !function.hasFnAttribute("warn-stack-size"))
        function.addFnAttr("warn-stack-size", std::to_string(stack_wanted(function) + kFrameSlackBytes));
    Passes& passes = passes_of(backend(emitter->needed_features(), text), text);
    passes.out.clear();
    passes.manager.run(module);
    const auto bytes = std::as_bytes(std::span(passes.out));
    code.bytes.assign(bytes.begin(), bytes.end());
    return code;
  }
};

ObjectCompiler::ObjectCompiler(CodeMachine m) : impl_(std::make_unique<Impl>(std::move(m))) {
  impl_->described.initialise();
  leave_passes_out();
  impl_->passes_of(impl_->backend("", impl_->described.text), impl_->described.text);
}

ObjectCompiler::~ObjectCompiler() = default;

ObjectCode ObjectCompiler::compile(const std::function<void(Emitter&)>& emit) {
  return impl_->run(emit, impl_->described.text);
}

std::string ObjectCompiler::assembly(const std::function<void(Emitter&)>& emit) {
  const ObjectCode code = impl_->run(emit, true);
  return {reinterpret_cast<const char*>(code.bytes.data()), code.bytes.size()};
}

std::string llvm_version() { return LLVM_VERSION_STRING; }

}  // namespace hone
