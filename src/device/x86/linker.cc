#include "device/x86/linker.h"

#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "device/x86/amx/tile_file.h"

namespace hone {
namespace {

template <class T>
T expect(llvm::Expected<T> value, const char* what) {
  if (!value) fail("machine code can't be loaded: {}: {}", what, llvm::toString(value.takeError()));
  return std::move(*value);
}

void expect(llvm::Error error, const char* what) {
  if (error) fail("machine code can't be loaded: {}: {}", what, llvm::toString(std::move(error)));
}

// What generated code may call: f64 functions that have no vector polynomial (vector_math.cc), the three routines that
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

Code Linker::find(const std::string& symbol) {
  const auto found = expect(impl_->session->lookup({impl_->library}, impl_->session->intern(symbol)), symbol.c_str());
  return found.getAddress().toPtr<void*>();
}

}  // namespace hone
