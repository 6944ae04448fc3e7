// hone machine: what this machine can reach, as the yardstick of every profile.
#pragma once

#include <optional>
#include <string>

#include "base/peaks.h"
#include "device/device.h"
#include "report/record.h"

namespace hone {

struct MachineOptions {
  std::shared_ptr<Device> device;           // null: the CPU
  std::optional<std::string> cache_folder;  // where peaks are remembered until the next boot; none: measured
  bool fresh = false;                       // measured anew, whatever is remembered
  std::string command;
};

// Key-values "peaks", of a device that has memory of its own "rates", and, where there are two CPUs, "pair" (measured
// now: hosts move virtual CPUs); table "reads".
Record machine(const MachineOptions& options);

// The peaks as rows of a record.
KeyValues peaks_block(const MachinePeaks& peaks);

}  // namespace hone
