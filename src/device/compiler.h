// Plans in, code out: one Compiler a session. Code lives as long as the compiler that made it, and no longer than the
// memory of the device (Device::generation()).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/plan.h"

namespace hone {

// What a device made of a kernel's plan; it alone knows what that is.
using Code = const void*;

struct CompilerOptions {
  int threads = 1;                          // compile threads
  std::optional<std::string> cache_folder;  // none: no disk cache. default_cache_folder() (base/cache_folder.h)
  // Bundles of what Compiler::bundle() gave, looked into before the disk; never put there.
  std::vector<std::string> bundled;
  bool keep_objects = false;  // for bundle(): nothing is taken from the disk
};

struct CompileStatistics {
  double milliseconds = 0;                    // of wall time
  int compiled = 0, cached = 0, bundled = 0;  // kernels: made now, from disk, from a bundle
  int spilled = 0;                            // tiles that were replaced by smaller ones
  std::string cache_problem;                  // why kernels are not kept on disk; empty where they are
  std::string bundle_note;                    // why bundles are not used, or not wholly
};

class Compiler {
 public:
  virtual ~Compiler() = default;
  // One code for each plan. Equal plans are compiled once, plans seen earlier not at all. Throws Error with the reason
  // when a plan is refused.
  virtual std::vector<Code> compile(std::span<const KernelPlan> plans) = 0;
  virtual const CompileStatistics& statistics() const = 0;
  virtual std::string bundle() const = 0;  // all code that is in use
};

}  // namespace hone
