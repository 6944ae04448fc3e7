#include "device/cuda/gpu.h"

#include <fmt/ranges.h>

#include "base/text.h"
#include "device/cuda/compiler.h"
#include "device/cuda/queue.h"

namespace hone {
namespace {

// The driver and its GPUs, as long as someone has them: contexts are the process's, too.
struct Opened {
  std::mutex mutex;
  std::weak_ptr<const cuda::Driver> driver;
  std::map<int, std::weak_ptr<CudaGpu>> gpus;
};
Opened& opened() {
  static Opened all;
  return all;
}

std::string text_of(const cuda::GpuFacts& facts) {
  return fmt::format("cuda:{}: {}, sm_{}{}, {} multiprocessors, {}", facts.ordinal, facts.name, facts.major,
                     facts.minor, facts.multiprocessors, human_bytes(static_cast<double>(facts.memory_bytes)));
}

std::shared_ptr<CudaGpu> make_gpu(std::shared_ptr<const cuda::Driver> driver, int ordinal) {
  const std::vector<cuda::GpuFacts> known = driver->devices();
  if (ordinal >= std::ssize(known)) {
    std::vector<std::string> texts;
    for (const cuda::GpuFacts& facts : known) texts.push_back(text_of(facts));
    fail("CUDA: there is no device cuda:{}; there are: {}. CUDA_VISIBLE_DEVICES may hide others", ordinal,
         fmt::join(texts, "; "));
  }
  const cuda::GpuFacts& facts = known[static_cast<size_t>(ordinal)];
  const CudaTarget target(10 * facts.major + facts.minor, facts.multiprocessors, facts.shared_bytes_of_block,
                          facts.l2_bytes);
  return std::make_shared<CudaGpu>(target, std::make_shared<CudaContext>(std::move(driver), facts));
}

}  // namespace

std::shared_ptr<CudaGpu> open_gpu(int ordinal) {
  Opened& all = opened();
  const std::lock_guard lock(all.mutex);
  if (auto known = all.gpus[ordinal].lock()) return known;
  std::shared_ptr<const cuda::Driver> driver = all.driver.lock();
  if (!driver) all.driver = driver = std::make_shared<const cuda::Driver>();
  std::shared_ptr<CudaGpu> gpu = make_gpu(std::move(driver), ordinal);
  all.gpus[ordinal] = gpu;
  return gpu;
}

DeviceFacts cuda_facts() {
  Opened& all = opened();
  const std::lock_guard lock(all.mutex);
  DeviceFacts facts;
  for (const auto& [ordinal, held] : all.gpus)
    if (const auto gpu = held.lock())
      facts.emplace_back("GPU", fmt::format("{}, driver for CUDA {}", text_of(gpu->context().facts()),
                                            cuda::version_text(gpu->context().driver().version())));
  return facts;
}

std::string CudaGpu::choice() const { return fmt::format("{}", context_->facts().ordinal); }

std::string CudaGpu::abilities() const {
  return fmt::format("{}, {}", context_->facts().name, CudaDevice::abilities());
}

namespace {

// Memory that someone has, with what it needs: the device, which reads it, and through that the context.
struct Taken {
  Taken(std::shared_ptr<CudaDevice> of, CudaContext& in, size_t bytes)
      : device(std::move(of)), context(in), address(in.take(bytes)), generation(in.generation_of(address)) {}
  ~Taken() { context.give_back(address, generation); }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

  const std::shared_ptr<CudaDevice> device;
  CudaContext& context;
  std::byte* const address;
  const uint64_t generation;
};

}  // namespace

Buffer CudaGpu::allocate(size_t bytes) {
  auto taken = std::make_shared<const Taken>(shared_from_this(), *context_, bytes);
  std::byte* const address = taken->address;
  return Buffer::of_device(*this, std::move(taken), {address, bytes});
}

void CudaGpu::read(const std::byte* from, std::span<std::byte> to) {
  if (to.empty()) return;
  const uint64_t generation = context_->generation_of(from);
  {
    const CudaCalls calls(*context_, generation);
    calls.check(calls->cuCtxSynchronize(), "what was asked of it");
  }
  const std::unique_ptr<Queue> queue = make_queue();
  { const CudaCalls still(*context_, generation); }  // else the queue is of a later one
  queue->read(from, to);
  queue->synchronise();
}

std::unique_ptr<Queue> CudaGpu::make_queue() { return std::make_unique<CudaQueue>(context_); }

std::unique_ptr<Compiler> CudaGpu::make_compiler(const CompilerOptions& options) {
  return make_cuda_compiler(target(), context_, options);
}

std::vector<std::string> CudaGpu::notes() const {
  if (!context_->facts().is_emulated()) return {};
  return {
      fmt::format("{} is emulated: its figures are of the interpreter, and say nothing of a GPU", context_->text())};
}

}  // namespace hone
