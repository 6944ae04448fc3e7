// hone doctor: everything about a model that would go wrong or be slow, found in one pass and without running it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/peaks.h"
#include "io/onnx/import_model.h"
#include "jobs/examined_run.h"
#include "jobs/examined_training.h"
#include "jobs/findings.h"
#include "jobs/predicted_size.h"
#include "jobs/run_options.h"

namespace hone {

struct DoctorOptions {
  std::string format;  // names the importer; empty: the one that is surest
  ShapeOptions shapes;
  std::vector<std::string> formats;   // checked and sized; empty: a choice from 16 bits to 4
  std::shared_ptr<Device> device;     // null: the CPU with all that it has
  bool no_fallback = false;           // what has no kernel of the device is a problem
  std::string disk = ".";             // where results would be written
  bool train = false;                 // also what it lacks to be trained
  std::optional<MachinePeaks> peaks;  // what this machine reaches; none: no time is predicted
};

// The same as a program or another language gives it, but for the importer and what the machine reaches.
struct DoctorFlags : ShapeFlags, DeviceFlags {
  std::string disk = ".";
  std::vector<std::string> to;
  bool train = false;

  DoctorOptions typed() const;
  static std::span<const OptionField<DoctorFlags>> fields();
};

struct Diagnosis {
  std::string path;
  std::vector<Finding> findings;             // what is worst comes first
  std::vector<UnsupportedNode> unsupported;  // then there is no run to examine
  ExaminedRun run;
  ExaminedTraining training;  // on demand
  std::vector<PredictedSize> formats;
  int64_t weight_bytes = 0;  // as the weights are now
  int64_t machine_bytes = 0;
  std::optional<int64_t> disk_bytes;  // free
  double seconds = 0;                 // that it took

  int64_t count(Severity severity) const;
  int64_t problems() const { return count(Severity::problem); }  // what would stop a run, or writing its result
};

// Of a file, which need not hold a model that can be run: throws Error only when it can't be read as one at all.
Diagnosis doctor(const std::string& path, const DoctorOptions& options);

}  // namespace hone
