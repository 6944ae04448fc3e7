// LLVM as a compiler and a linker: modules in, object files out; object files in, addresses out.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/x86/target.h"

namespace hone {

class Emitter;

struct ObjectCode {
  std::vector<std::byte> bytes;
  std::vector<std::string> spilled;  // functions whose stack frame is larger than what they allocate themselves
};

// Compiles modules for one instruction-set level. An object serves one thread; several work side by side, each with its
// own LLVM context.
class ObjectCompiler {
 public:
  explicit ObjectCompiler(const Target& target);
  ~ObjectCompiler();
  // `emit` fills a fresh module. Throws Bug when LLVM's verifier finds fault with it.
  ObjectCode compile(const std::function<void(Emitter&)>& emit);
  std::string assembly(const std::function<void(Emitter&)>& emit);  // the same code as text, for people

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Loads object files into this process and owns their memory.
class Linker {
 public:
  Linker();
  ~Linker();
  void add(std::span<const std::byte> object, const std::string& name);  // throws Error when it is no object file
  void* find(const std::string& symbol);                                 // throws Error when no object defines it

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

std::string llvm_version();  // "19.1.7"

}  // namespace hone
