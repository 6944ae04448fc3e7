// Plans in, code out: LLVM in process, with objects taken from bundles and kept on disk (object_cache.h), and made
// smaller where registers spill.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/compiler.h"
#include "device/device.h"
#include "device/llvm/object_compiler.h"

namespace hone {

// What a driver makes of code that is text, for one device.
struct Assembled {
  std::vector<std::byte> image;
  bool spills = false;
};
using Assemble = std::function<Assembled(std::span<const std::byte> code, const std::string& symbol)>;

// Brings object files, or images, to where their kernels run, and keeps them there as long as it lives.
class ObjectLoader {
 public:
  virtual ~ObjectLoader() = default;
  virtual void add(std::span<const std::byte> object, const std::string& name) = 0;  // Error: it is no object file
  virtual Code find(const std::string& symbol) = 0;                                  // Error: no object defines it
};

// All that a device of LLVM says of its code. Its implementations are LlvmKernels.
struct ObjectTarget {
  std::shared_ptr<const Device> device;
  CodeMachine machine;
  std::string code_target;                                     // as object_key() takes it
  std::function<std::unique_ptr<ObjectLoader>()> make_loader;  // called where there is something to load
  // Null where code is loaded as it is. Else images are loaded and kept on disk, and bundles have the code. Called by
  // several threads at once. Throws Error where the driver refuses the code.
  Assemble assemble = nullptr;
  std::string image_target = {};  // what decides an image beside the code: the device and its driver
};

class ObjectLibrary : public Compiler {
 public:
  ObjectLibrary(ObjectTarget target, const CompilerOptions& options);
  ~ObjectLibrary() override;
  std::vector<Code> compile(std::span<const KernelPlan> plans) override;
  const CompileStatistics& statistics() const override;
  std::string bundle() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hone
