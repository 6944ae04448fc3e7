// The oracle: every step by its op's reference evaluation, in double accumulation.
#include "base/error.h"
#include "device/host.h"

namespace hone {
namespace {

class ReferenceQueue : public HostQueue {
 public:
  void launch(Code, const KernelArgs&, const Launch&, std::span<std::byte* const>) override {
    CHECK(false, "the reference has no kernels");
  }
};

class ReferenceCompiler : public Compiler {
 public:
  std::vector<Code> compile(std::span<const KernelPlan> plans) override {
    CHECK(plans.empty(), "the reference has no kernels");
    return {};
  }
  const CompileStatistics& statistics() const override { return statistics_; }
  std::string bundle() const override { return ""; }

 private:
  CompileStatistics statistics_;
};

class ReferenceDevice : public HostDevice {
 public:
  std::string_view name() const override { return "reference"; }
  std::unique_ptr<Queue> make_queue() override { return std::make_unique<ReferenceQueue>(); }
  bool compiles() const override { return false; }
  const KernelImplementation* find(const KernelDef&) const override { return nullptr; }
  std::unique_ptr<Compiler> make_compiler(const CompilerOptions&) override {
    return std::make_unique<ReferenceCompiler>();
  }
};

}  // namespace

extern constinit const DeviceDef reference_device_def{
    .name = "reference",
    .doc = "slow and obvious, sums in double",
    .variants = "",
    .open = [](std::string_view variant) -> std::shared_ptr<Device> {
      if (!variant.empty())
        fail("device \"reference:{}\": the reference has no variants; use --device reference", variant);
      return std::make_shared<ReferenceDevice>();
    }};

}  // namespace hone
