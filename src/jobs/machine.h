// hone machine: what this machine can reach, as the yardstick of every profile.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/peaks.h"
#include "device/device.h"
#include "jobs/run_options.h"
#include "measure/cpu_contention.h"
#include "measure/environment.h"

namespace hone {

struct MachineOptions : DeviceFlags {
  std::string cache;   // folder where peaks are remembered until the next boot
  bool fresh = false;  // measured anew, whatever is remembered
  static std::span<const OptionField<MachineOptions>> fields();
};

struct MachineResult {
  MachinePeaks peaks;  // zeros where no code can be generated for this CPU
  std::string device;  // of a device that has memory of its own, and whose peaks these are: what it is called
  std::optional<UnitRates> units;     // of the CPU, as the table of microarchitectures has them
  std::optional<CpuContention> pair;  // where there are two CPUs; measured now: hosts move virtual CPUs
  std::vector<std::string> notes;     // the device's
  Environment environment;
};

MachineResult machine(const MachineOptions& options);

}  // namespace hone
