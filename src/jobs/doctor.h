// hone doctor: everything about a model that would go wrong or be slow, found in one pass and without running it.
#pragma once

#include <string>
#include <vector>

#include "base/peaks.h"
#include "jobs/default_inputs.h"
#include "report/record.h"

namespace hone {

struct DoctorOptions {
  ShapeOptions shapes;
  std::vector<std::string> formats;   // checked and sized; empty: a choice from 16 bits to 4
  std::shared_ptr<Device> device;     // null: the CPU with all that it has
  bool no_fallback = false;           // what has no kernel of the device is a problem
  std::string disk = ".";             // where results would be written
  bool train = false;                 // also what it lacks to be trained
  std::optional<MachinePeaks> peaks;  // what this machine reaches; none: no time is predicted
};

struct Diagnosis {
  Record record;  // findings by severity; tables "unsupported", "interpreted", "on_host", "parameters", "untrainable",
                  // "formats", "speed", "memory"
  int problems = 0;  // what would stop a run, a quantization or the writing of its result
};

// Throws Error only when the file can't be read as a model at all.
Diagnosis doctor(const std::string& path, const DoctorOptions& options);

}  // namespace hone
