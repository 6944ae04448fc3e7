// The options of quantization and their calibration data as flags, read off their tables (passes/quantize.h,
// jobs/quantize_model.h), and --config.
#pragma once

#include <string>

#include "cli/flags.h"
#include "cli/option_flags.h"
#include "cli/run_files.h"
#include "jobs/quantize_model.h"

namespace hone {

struct QuantizeFlags {
  GivenOptions given;
  std::string config, compute;
  QuantizeOptions options;  // as they are where nothing is given; read() sets the rest
  Calibration calibration;
  PlanNotes plan;  // of --config
  const CLI::Option* compute_option = nullptr;

  void add_to(CLI::App& app);
  void read();  // the file's first, then the command line's
  std::optional<Compute> compute_type() const;
  void read_by(RunFiles& files) const;  // --config and the calibration data, once read() is done
};

}  // namespace hone
