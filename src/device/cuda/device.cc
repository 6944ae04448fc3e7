#include "device/cuda/device.h"

#include <charconv>

#include "device/cuda/compiler.h"
#include "device/cuda/cuda_kernel.h"
#include "device/cuda/gpu.h"
#include "device/cuda/machine.h"
#include "device/cuda/registry.h"
#include "device/host.h"
#include "device/llvm/object_cache.h"

namespace hone {

// LLVM with a target opened and what the compiler of a thread keeps, as on x86; and the same again for the driver's
// compiler, whose memory is not known.
constexpr int64_t kCompilerBytes = int64_t{64} << 20, kThreadBytes = int64_t{16} << 20,
                  kKernelBytes = int64_t{256} << 10;

namespace {

class NoGpuQueue : public HostQueue {
 public:
  explicit NoGpuQueue(std::string device) : device_(std::move(device)) {}
  void launch(Code, const KernelArgs&, const Launch& call, std::span<std::byte* const>) override {
    fail(
        "step \"{}\": {} is no GPU: it plans and compiles (hone explain, hone compile), and runs nothing. Use --device "
        "cuda on a machine with a GPU, or --device cpu",
        call.name, device_);
  }

 private:
  const std::string device_;
};

}  // namespace

const CudaKernelDef* device_cuda::find(const KernelDef& kernel) {
  static const ImplementationTable<CudaKernelDef> known("cuda", all());
  return known.find(kernel);
}

std::string CudaDevice::abilities() const {
  return fmt::format("sm_{}, {} multiprocessors{}", target_.capability(), target_.multiprocessors(),
                     target_.has_bf16() ? ", bf16" : ", f16 without bf16");
}

Buffer CudaDevice::allocate(size_t bytes) {
  struct Owner {
    std::shared_ptr<CudaDevice> device;
    Buffer memory;
  };
  auto owner = std::make_shared<Owner>(Owner{shared_from_this(), Buffer::uninitialised(bytes)});
  const std::span<const std::byte> view = owner->memory.bytes();
  return Buffer::of_device(*this, std::move(owner), view);
}

void CudaDevice::read(const std::byte* from, std::span<std::byte> to) {
  if (!to.empty()) std::memcpy(to.data(), from, to.size());
}

std::unique_ptr<Queue> CudaDevice::make_queue() { return std::make_unique<NoGpuQueue>(hone::text_of(*this)); }
const KernelImplementation* CudaDevice::find(const KernelDef& kernel) const { return device_cuda::find(kernel); }
std::unique_ptr<Compiler> CudaDevice::make_compiler(const CompilerOptions& options) {
  return make_cuda_compiler(target_, nullptr, options);
}
std::string CudaDevice::code_key(const KernelPlan& plan) const {
  return object_key(plan.text(), code_target(target_)).hex();
}
int64_t CudaDevice::compile_bytes(int threads, int64_t kernels) const {
  return kCompilerBytes + kThreadBytes * threads + kKernelBytes * kernels;
}
std::string CudaDevice::why_no_bf16() const {
  if (target_.has_bf16()) return "";
  return fmt::format("{} ({}) has no bf16; leave --compute out, which is f32, or use a GPU of sm_80 or newer",
                     hone::text_of(*this), to_string(target_));
}
std::string CudaDevice::why_no_training() const {
  return "device cuda has no kernels of gradients yet: models are trained on --device cpu, and what comes out runs on "
         "cuda";
}

namespace {

// What stands behind the colon: an architecture, the number of a GPU, or nothing.
std::shared_ptr<Device> open_cuda(std::string_view variant) {
  if (variant.starts_with("sm_")) return std::make_shared<CudaDevice>(parse_cuda_target(variant));
  int ordinal = 0;
  const char* const end = variant.data() + variant.size();
  const auto [behind, error] = std::from_chars(variant.data(), end, ordinal);
  if (!variant.empty() && (error != std::errc() || behind != end || ordinal < 0))
    fail(
        "device \"cuda:{}\": expected the number of a GPU, as in cuda:1, or an architecture to compile for, as in "
        "cuda:sm_80",
        variant);
  return open_gpu(ordinal);
}

}  // namespace

extern constinit const DeviceDef cuda_device_def{
    .name = "cuda",
    .doc = "code for an NVIDIA GPU",
    .variants =
        "The number of a GPU, as CUDA_VISIBLE_DEVICES counts them; or sm_75, sm_80, sm_86, sm_89, sm_90, to "
        "plan and compile without one",
    .example = "1",
    .facts = cuda_facts,
    .is_sought = true,
    .open = open_cuda};

}  // namespace hone
