// Implementations as devices write them: functions of plans and arguments of their own types.
//
//   constexpr ImplementationOf<GatherPlan, StepsDevice, GatherArgs> gather{
//       .supports = …, .launch = …, .describe = …};
//   constexpr KernelImplementation on_steps = implementation<gather>();
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "base/error.h"
#include "device/args.h"
#include "device/given.h"
#include "device/implementation.h"

namespace hone {

template <class Plan, class OfDevice, class Args = KernelArgs>
struct ImplementationOf {
  Given<Support(const OfDevice&, const Lowering&, Prepared&)> adapt = {};
  Given<Support(const Plan&, const OfDevice&)> supports;
  Given<Launch(const Plan&, const OfDevice&, Args&)> launch;
  Given<std::string(const Plan&, const OfDevice&)> describe;
  Given<KernelSpeed(const Plan&, const OfDevice&)> speed = {};
  Given<std::string(const Plan&, const OfDevice&)> prepack_key = {};
  Given<int64_t(const Plan&, const OfDevice&)> prepacked_bytes = {};
  Given<void(const Plan&, const OfDevice&, const Tensor&, int threads, std::byte*)> prepack = {};
  using PlanType = Plan;
  using ArgsType = Args;
  using DeviceType = OfDevice;
  using ToldType = OfDevice;
};

// What functions of an implementation are told of its device: the device, as its own type. One that tells them less
// specialises this.
template <class Told>
const Told& told_of(const Device& device) {
  return static_cast<const Told&>(device);
}

template <const auto& kGiven>
constexpr KernelImplementation implementation() {
  using Class = std::remove_cvref_t<decltype(kGiven)>;
  using Plan = typename Class::PlanType;
  using Args = typename Class::ArgsType;
  using Told = typename Class::ToldType;
  static_assert(kGiven.supports.is_given && kGiven.launch.is_given && kGiven.describe.is_given,
                "an implementation says all three of its plans");
  static_assert(names_every_member<Plan>(), "fields() of a plan names each of its members once");
  static_assert(kGiven.prepack.is_given == kGiven.prepack_key.is_given &&
                    kGiven.prepack.is_given == kGiven.prepacked_bytes.is_given,
                "constants are laid out with all three of key, bytes and prepack, or not at all");
  KernelImplementation made;
  made.kernel = &Plan::kernel;
  made.supports = [](const Device& d, const KernelPlan& p) {
    return kGiven.supports.call(p.get<Plan>(), told_of<Told>(d));
  };
  made.launch = [](const Device& d, const KernelPlan& p, KernelArgs& all) {
    if constexpr (HasPlaces<Args>) {
      auto args = from_args<Args>(all);
      const Launch call = kGiven.launch.call(p.get<Plan>(), told_of<Told>(d), args);
      write_args(args, all);
      return call;
    } else {
      return kGiven.launch.call(p.get<Plan>(), told_of<Told>(d), all);
    }
  };
  made.describe = [](const Device& d, const KernelPlan& p) {
    return kGiven.describe.call(p.get<Plan>(), told_of<Told>(d));
  };
  made.speed = [](const Device&, const KernelPlan&) { return KernelSpeed(); };
  if constexpr (kGiven.adapt.is_given)
    made.adapt = [](const Device& d, const Lowering& lowering, Prepared& prepared) {
      return kGiven.adapt.call(static_cast<const typename Class::DeviceType&>(d), lowering, prepared);
    };
  if constexpr (kGiven.speed.is_given)
    made.speed = [](const Device& d, const KernelPlan& p) {
      return kGiven.speed.call(p.get<Plan>(), told_of<Told>(d));
    };
  if constexpr (kGiven.prepack.is_given)
    made.prepacking = {
        .key = [](const Device& d,
                  const KernelPlan& p) { return kGiven.prepack_key.call(p.get<Plan>(), told_of<Told>(d)); },
        .bytes = [](const Device& d,
                    const KernelPlan& p) { return kGiven.prepacked_bytes.call(p.get<Plan>(), told_of<Told>(d)); },
        .lay_out = [](const Device& d, const KernelPlan& p, const Tensor& weights, int threads,
                      std::byte* out) { kGiven.prepack.call(p.get<Plan>(), told_of<Told>(d), weights, threads, out); }};
  return made;
}

// The implementations of a device by their classes. Bug where one class has two.
template <class Implementation>
class ImplementationTable {
 public:
  ImplementationTable(std::string_view device, std::span<const Implementation* const> all) {
    for (const Implementation* each : all)
      CHECK(by_class_.emplace(&each->kernel(), each).second, "{} has two implementations of {} kernels", device,
            each->kernel().name);
  }
  const Implementation* find(const KernelDef& kernel) const {
    const auto found = by_class_.find(&kernel);
    return found == by_class_.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<const KernelDef*, const Implementation*> by_class_;
};

}  // namespace hone
