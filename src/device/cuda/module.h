// Code of kernels in a GPU's memory: what the driver loads, and what launches name.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/context.h"
#include "device/llvm/object_library.h"

namespace hone {

// What a Code of CUDA points to.
struct CudaCode {
  cuda::Handle function = nullptr;
};
inline const CudaCode& cuda_code(Code code) { return *static_cast<const CudaCode*>(code); }

class CudaModule {
 public:
  // Throws Error where the driver refuses the image.
  CudaModule(CudaContext& context, std::string_view image, const std::string& name);
  ~CudaModule();
  CudaModule(const CudaModule&) = delete;
  CudaModule& operator=(const CudaModule&) = delete;

  uint64_t generation() const { return generation_; }
  Code find(const std::string& symbol);  // Error: the module does not have it

 private:
  CudaContext& context_;
  uint64_t generation_ = 0;
  cuda::Handle module_ = nullptr;
  std::mutex mutex_;
  std::map<std::string, CudaCode> codes_;  // which stay where they are
};

// The modules of one compiler. Those whose images are equal are shared by all of a process.
class CudaLoader : public ObjectLoader {
 public:
  explicit CudaLoader(std::shared_ptr<CudaContext> context) : context_(std::move(context)) {}
  void add(std::span<const std::byte> object, const std::string& name) override;
  Code find(const std::string& symbol) override;

 private:
  const std::shared_ptr<CudaContext> context_;                  // first: modules go before it
  std::map<std::string, std::shared_ptr<CudaModule>> modules_;  // by the name of the kernel
};

}  // namespace hone
