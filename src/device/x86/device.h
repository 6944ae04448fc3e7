// x86 CPUs as a device: machine code made for an X86Target, in the host's memory.
#pragma once

#include "device/host.h"
#include "device/x86/target.h"

namespace hone {

class X86Device : public HostDevice {
 public:
  explicit X86Device(X86Target target) : target_(std::move(target)) {}
  const X86Target& target() const { return target_; }

  std::string_view name() const override { return "cpu"; }
  std::string variant() const override { return to_string(target_); }
  std::string abilities() const override { return to_string(target_.features()); }
  std::unique_ptr<Queue> make_queue() override;
  const KernelImplementation* find(const KernelDef& kernel) const override;
  std::unique_ptr<Compiler> make_compiler(const CompilerOptions& options) override;
  std::string code_key(const KernelPlan& plan) const override;
  int64_t compile_bytes(int threads, int64_t kernels) const override;
  std::shared_ptr<const Packer> make_packer(const CompilerOptions& options) override;
  const Pipeline& pipeline() const override { return kChannelsLast; }  // channels of a pixel are multiplied as they lie
  std::optional<MachinePeaks> measure_peaks() override;
  UnitRates units() const override;
  std::vector<std::string> notes() const override;

 private:
  const X86Target target_;
};

inline std::shared_ptr<Device> x86_device(const X86Target& target) { return std::make_shared<X86Device>(target); }

// The target of a device whose implementations are x86's.
inline const X86Target& target_of(const Device& device) { return static_cast<const X86Device&>(device).target(); }

}  // namespace hone
