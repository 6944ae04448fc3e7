#include "jobs/machine.h"

#include "base/cache_folder.h"
#include "measure/peaks.h"

namespace hone {
namespace {

constexpr OptionField<MachineOptions> kOwn[] = {
    flag("fresh", "Measure anew instead of showing what was measured since the machine started",
         &MachineOptions::fresh),
    flag("cache", "Folder that remembers the peaks (default: $HONE_CACHE or ~/.cache/hone)", &MachineOptions::cache,
         {.value = "FOLDER"})};

// Null where code can't be generated for this CPU.
std::shared_ptr<Device> cpu() {
  try {
    return open_device("cpu");
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace

std::span<const OptionField<MachineOptions>> MachineOptions::fields() {
  static const auto all = joined_fields<MachineOptions>(DeviceFlags::fields().first(1), kOwn);
  return all;
}

MachineResult machine(const MachineOptions& options) {
  const std::optional<std::string> folder =
      options.cache.empty() ? default_cache_folder() : std::optional(options.cache);
  const std::shared_ptr<Device> asked = options.asked_device();
  const std::shared_ptr<Device> device = asked ? asked : cpu();
  MachineResult result;
  if (device) {
    result.peaks = machine_peaks(device, folder, options.fresh);
    result.notes = device->notes();
    if (device->free_bytes()) result.device = text_of(*device);
    else result.units = device->units();
  }
  if (result.device.empty()) result.pair = cpu_contention();
  result.environment = environment();
  return result;
}

}  // namespace hone
