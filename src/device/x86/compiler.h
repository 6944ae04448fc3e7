// Plans in, machine code out: LLVM in process, with objects cached on disk (object_cache.h).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/compiler.h"
#include "device/x86/x86_kernel.h"

namespace hone {

// Owns the machine code; kernels stay valid as long as the object they came from lives.
class KernelLibrary {
 public:
  KernelLibrary(const Target& target, const CompilerOptions& options);
  ~KernelLibrary();
  // One kernel per plan; equal plans are compiled once, plans seen earlier not at all. Throws Error with the reason
  // when a plan is refused.
  std::vector<KernelFn> compile(std::span<const KernelPlan> plans);
  const CompileStatistics& statistics() const;
  std::string bundle() const;  // all kernels that are in use

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hone
