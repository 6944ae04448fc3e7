// LLVM as a compiler: modules in, object files or assembly out, for any machine that LLVM has a back end for.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class Module;
namespace legacy {
class PassManagerBase;
}
}  // namespace llvm

namespace hone {

class Emitter;

// What code is generated for, as LLVM is told, and what emits it.
struct CodeMachine {
  std::string triple, cpu, features;
  void (*initialise)() = nullptr;  // registers LLVM's back end; called once for each compiler
  std::function<std::unique_ptr<Emitter>(llvm::Module&)> make_emitter;
  bool text = false;  // code is assembly, which something else makes objects of
  // Adds passes over what was emitted, before those of code generation. Null: none.
  void (*add_passes)(llvm::legacy::PassManagerBase&) = nullptr;
};

struct ObjectCode {
  std::vector<std::byte> bytes;      // an object file, or text without an end
  std::vector<std::string> spilled;  // functions whose stack frame is larger than what they allocate themselves
};

// An object serves one thread; several work side by side, each with its own LLVM context.
class ObjectCompiler {
 public:
  explicit ObjectCompiler(CodeMachine machine);
  ~ObjectCompiler();
  // `emit` fills a fresh module. Throws Bug when LLVM's verifier finds fault with it.
  ObjectCode compile(const std::function<void(Emitter&)>& emit);
  std::string assembly(const std::function<void(Emitter&)>& emit);  // the same code as text, for people

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

std::string llvm_version();  // "19.1.7"

}  // namespace hone
