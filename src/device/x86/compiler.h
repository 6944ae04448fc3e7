// Plans in, machine code out: LLVM in process, with objects cached on disk (object_cache.h).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/target.h"

namespace hone {

struct CompilerOptions {
  Target target = host_target();
  int threads = 1;  // compile threads
  std::optional<std::string>
      cache_folder;  // none: no disk cache. default_cache_folder() is $HONE_CACHE or ~/.cache/hone
  std::vector<std::string>
      bundled;                // bundles of objects (object_bundle.h), looked into before the disk; never put there
  bool keep_objects = false;  // for bundle(): nothing is taken from the disk
};
// None when HONE_CACHE is empty, or there is no such folder and none can be made. It may be one that can only be read.
std::optional<std::string> default_cache_folder();

struct CompileStatistics {
  double milliseconds = 0;                    // of wall time
  int compiled = 0, cached = 0, bundled = 0;  // kernels: made now, from disk, from a bundle
  int spilled = 0;                            // tiles that were replaced by smaller ones
  std::string cache_problem;                  // why kernels are not kept on disk; empty where they are
  std::string bundle_note;                    // why bundles are not used, or not wholly
};

// Owns the machine code; kernels stay valid as long as the object they came from lives.
class KernelLibrary {
 public:
  explicit KernelLibrary(const CompilerOptions& options);
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
