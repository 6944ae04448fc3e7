#include "device/cuda/compiler.h"

#include "device/cuda/assembler.h"
#include "device/cuda/device.h"
#include "device/cuda/machine.h"
#include "device/cuda/module.h"

namespace hone {
namespace {

// Where there is no GPU, PTX lies nowhere.
class NoLoader : public ObjectLoader {
 public:
  void add(std::span<const std::byte>, const std::string&) override {}
  Code find(const std::string&) override {
    static constexpr CudaCode kNone;
    return &kNone;
  }
};

}  // namespace

std::unique_ptr<Compiler> make_cuda_compiler(const CudaTarget& target, std::shared_ptr<CudaContext> context,
                                             const CompilerOptions& options) {
  ObjectTarget made{.device = std::make_shared<const CudaDevice>(target),
                    .machine = code_machine(target),
                    .code_target = code_target(target),
                    .make_loader = [] { return std::make_unique<NoLoader>(); }};
  if (context) {
    made.image_target =
        fmt::format("{}, driver for CUDA {}", context->facts().name, cuda::version_text(context->driver().version()));
    made.assemble = [context](std::span<const std::byte> ptx, const std::string& symbol) {
      return assemble_ptx(*context, ptx, symbol);
    };
    made.make_loader = [context] { return std::make_unique<CudaLoader>(context); };
  }
  return std::make_unique<ObjectLibrary>(std::move(made), options);
}

}  // namespace hone
