// The CPU at hand, by machine code of LLVM.
#include <algorithm>

#include "base/stop.h"
#include "base/threads.h"
#include "runtime/backends/host.h"

namespace hone {
namespace {

// The chunks of a call on one thread, so that it can be stopped: tens of milliseconds of work.
constexpr int64_t kChunksAtOnce = 1024;

class CpuQueue : public HostQueue {
 public:
  void launch(Code code, const KernelArgs& args, const Launch& call, std::span<std::byte* const> scratch) override {
    const auto kernel = reinterpret_cast<KernelFn>(const_cast<void*>(code));
    const auto [items, chunk_items, unused] = call;
    if (scratch.size() == 1 || items <= chunk_items) {
      const int64_t at_once = std::max<int64_t>(chunk_items, 1) * kChunksAtOnce;
      for (int64_t begin = 0; begin < items; begin += at_once) {
        check_stop();
        kernel(&args, begin, std::min(items, begin + at_once), scratch[0]);
      }
      return;
    }
    auto chunk = [&](int64_t begin, int64_t end, int thread) {
      kernel(&args, begin, end, scratch[static_cast<size_t>(thread)]);
    };
    parallel_chunks(items, chunk_items, static_cast<int>(scratch.size()), chunk);
  }
};

class CpuBackend : public HostBackend {
 public:
  explicit CpuBackend(const CompilerOptions& options) : library_(options) {}

  std::string_view name() const override { return "cpu"; }
  std::unique_ptr<Queue> make_queue() override { return std::make_unique<CpuQueue>(); }
  std::vector<Code> compile(std::span<const KernelPlan> plans) override {
    std::vector<Code> codes;
    for (KernelFn kernel : library_.compile(plans)) codes.push_back(reinterpret_cast<Code>(kernel));
    return codes;
  }
  const CompileStatistics& statistics() const override { return library_.statistics(); }
  std::string bundle() const override { return library_.bundle(); }

 private:
  KernelLibrary library_;
};

}  // namespace

extern constinit const BackendDef cpu_backend_def{
    .name = "cpu",
    .doc = "compiled code",
    .compiles = true,
    .make = [](const CompilerOptions& options) -> std::shared_ptr<Backend> {
      return std::make_shared<CpuBackend>(options);
    }};

}  // namespace hone
