// The oracle: every step by its op's reference evaluation, in double accumulation.
#include "base/error.h"
#include "runtime/backends/host.h"

namespace hone {
namespace {

class ReferenceQueue : public HostQueue {
 public:
  void launch(Code, const KernelArgs&, const Launch&, std::span<std::byte* const>) override {
    CHECK(false, "the reference has no kernels");
  }
};

class ReferenceBackend : public HostBackend {
 public:
  std::string_view name() const override { return "reference"; }
  std::unique_ptr<Queue> make_queue() override { return std::make_unique<ReferenceQueue>(); }
  std::vector<Code> compile(std::span<const KernelPlan> plans) override { return std::vector<Code>(plans.size()); }
  const CompileStatistics& statistics() const override { return statistics_; }
  std::string bundle() const override { return ""; }

 private:
  CompileStatistics statistics_;
};

}  // namespace

extern constinit const BackendDef reference_backend_def{
    .name = "reference",
    .doc = "slow and obvious, sums in double",
    .compiles = false,
    .make = [](const CompilerOptions&) -> std::shared_ptr<Backend> { return std::make_shared<ReferenceBackend>(); }};

}  // namespace hone
