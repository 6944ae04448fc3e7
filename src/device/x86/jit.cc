#include "device/x86/jit.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <cmath>
#include <cstring>
#include <mutex>

#include "base/error.h"
#include "device/x86/emit.h"
#include "device/x86/tile_file.h"

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

void initialise_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
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
std::string llvm_features(const Target& target) {
  std::string text;
  for (const auto& [feature, spelled] : kSpelled)
    if (target.has(feature)) text += spelled;
  return text;
}

}  // namespace

struct ObjectCompiler::Impl {
  explicit Impl(const Target& t) : target(t) {}

  Target target;
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
    Emitter emitter(module, target);
    emit(emitter);
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

ObjectCompiler::ObjectCompiler(const Target& target) : impl_(std::make_unique<Impl>(target)) {
  initialise_llvm();
  const std::string triple = llvm::sys::getProcessTriple();
  std::string reason;
  const llvm::Target* machine = llvm::TargetRegistry::lookupTarget(triple, reason);
  CHECK(machine, "{}", reason);
  impl_->machine.reset(machine->createTargetMachine(triple, target.avx512() ? "x86-64-v4" : "x86-64-v3",
                                                    llvm_features(target), llvm::TargetOptions(), llvm::Reloc::PIC_,
                                                    llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default, true));
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

namespace {

template <class T>
T expect(llvm::Expected<T> value, const char* what) {
  if (!value) fail("machine code can't be loaded: {}: {}", what, llvm::toString(value.takeError()));
  return std::move(*value);
}

void expect(llvm::Error error, const char* what) {
  if (error) fail("machine code can't be loaded: {}: {}", what, llvm::toString(std::move(error)));
}

// What generated code may call: f64 functions that have no vector polynomial (expr_emit.cc), the three routines that
// LLVM itself may choose for a copy or a fill, and tiles in software.
llvm::orc::SymbolMap library_symbols(llvm::orc::ExecutionSession& session) {
  using F1 = double (*)(double);
  using F2 = double (*)(double, double);
  llvm::orc::SymbolMap symbols;
  auto add = [&](const char* name, auto* function) {
    symbols[session.intern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function), llvm::JITSymbolFlags::Exported};
  };
  add("exp", static_cast<F1>(std::exp)), add("log", static_cast<F1>(std::log)), add("tanh", static_cast<F1>(std::tanh));
  add("erf", static_cast<F1>(std::erf)), add("sin", static_cast<F1>(std::sin)), add("cos", static_cast<F1>(std::cos));
  add("pow", static_cast<F2>(std::pow));
  add("memcpy", &std::memcpy), add("memset", &std::memset), add("memmove", &std::memmove);
  for (const auto& [name, function] : tile_functions())
    symbols[session.intern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function), llvm::JITSymbolFlags::Exported};
  return symbols;
}

}  // namespace

// ORC's session and JITLink layer without LLJIT around them: nothing here needs its platform support, and creating it
// would take longer than linking a model's kernels.
struct Linker::Impl {
  std::unique_ptr<llvm::orc::ExecutionSession> session;
  std::unique_ptr<llvm::orc::ObjectLinkingLayer> layer;
  llvm::orc::JITDylib* library = nullptr;

  ~Impl() {
    if (session) llvm::consumeError(session->endSession());
  }
};

Linker::Linker() : impl_(std::make_unique<Impl>()) {
  impl_->session = std::make_unique<llvm::orc::ExecutionSession>(
      expect(llvm::orc::SelfExecutorProcessControl::Create(), "this process"));
  impl_->session->setErrorReporter([](llvm::Error error) { llvm::consumeError(std::move(error)); });
  impl_->layer = std::make_unique<llvm::orc::ObjectLinkingLayer>(*impl_->session);
  impl_->library = &impl_->session->createBareJITDylib("hone");
  expect(impl_->library->define(llvm::orc::absoluteSymbols(library_symbols(*impl_->session))), "library functions");
}

Linker::~Linker() = default;

void Linker::add(std::span<const std::byte> object, const std::string& name) {
  const llvm::StringRef bytes(reinterpret_cast<const char*>(object.data()), object.size());
  expect(impl_->layer->add(*impl_->library, llvm::MemoryBuffer::getMemBufferCopy(bytes, name)), name.c_str());
}

void* Linker::find(const std::string& symbol) {
  const auto found = expect(impl_->session->lookup({impl_->library}, impl_->session->intern(symbol)), symbol.c_str());
  return found.getAddress().toPtr<void*>();
}

std::string llvm_version() { return LLVM_VERSION_STRING; }

}  // namespace hone
