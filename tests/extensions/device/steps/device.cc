#include "device/steps/device.h"

#include <cstring>
#include <map>

#include "base/clock.h"

namespace hone {
namespace {

// Keeps a plan each; nothing is made of it before it runs.
class StepsCompiler : public Compiler {
 public:
  StepsCompiler(const StepsDevice& device, const CompilerOptions& options) : device_(device) {
    if (!options.bundled.empty()) statistics_.bundle_note = "the steps device interprets plans and reads no bundles";
  }

  std::vector<Code> compile(std::span<const KernelPlan> plans) override {
    const auto start = std::chrono::steady_clock::now();
    std::vector<Code> codes;
    for (const KernelPlan& plan : plans) {
      const auto [code, is_new] = codes_.try_emplace(plan.text(), StepsCode{plan, &kernel_of(plan)});
      statistics_.compiled += is_new;
      codes.push_back(&code->second);
    }
    statistics_.milliseconds += milliseconds_since(start);
    return codes;
  }
  const CompileStatistics& statistics() const override { return statistics_; }
  std::string bundle() const override { return ""; }

 private:
  const StepsKernel& kernel_of(const KernelPlan& plan) const {
    const auto& kernel = static_cast<const StepsKernel&>(implementation_of(device_, plan));
    if (const Support support = kernel.supports(device_, plan); !support.supported())
      fail("the steps device has no code for {}", support.why);
    return kernel;
  }

  const StepsDevice& device_;
  std::map<std::string, StepsCode> codes_;  // by the plan's text; places stay
  CompileStatistics statistics_;
};

}  // namespace

Buffer StepsDevice::allocate(size_t bytes) {
  std::byte* const address = memory_->take(bytes);
  // What the buffer keeps alive: the memory, and the device that reads it.
  std::shared_ptr<const void> owner(address, [memory = memory_, self = shared_from_this()](const void* taken) {
    memory->give_back(static_cast<const std::byte*>(taken));
  });
  return Buffer::of_device(*this, std::move(owner), {address, bytes});
}

void StepsDevice::read(const std::byte* from, std::span<std::byte> to) {
  if (!to.empty()) std::memcpy(to.data(), memory_->at(from, to.size()), to.size());
}

std::unique_ptr<Compiler> StepsDevice::make_compiler(const CompilerOptions& options) {
  return std::make_unique<StepsCompiler>(*this, options);
}

StepsTally& steps_tally() {
  static StepsTally tally;
  return tally;
}

extern constinit const DeviceDef steps_device_def{
    .name = "steps",
    .doc = "interprets pointwise kernels and gathers, in memory that the host cannot read",
    .variants = "",
    .open = [](std::string_view variant) -> std::shared_ptr<Device> {
      if (!variant.empty()) fail("device \"steps:{}\": steps has no variants; use --device steps", variant);
      return std::make_shared<StepsDevice>();
    }};

}  // namespace hone
