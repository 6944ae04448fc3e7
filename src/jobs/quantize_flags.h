// The options of quantization and their calibration data as flags, read off their tables (passes/compress/quantize.h,
// jobs/quantize_model.h), and --config.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/option_tables.h"
#include "jobs/quantize_model.h"

namespace hone {

struct QuantizeFlags : QuantizeOptions, Calibration {
  std::string config, compute;
  PlanNotes plan;          // of --config
  std::string calib_file;  // the data that --config names

  const QuantizeOptions& quantize() const { return *this; }
  const Calibration& calibration() const { return *this; }
  void read_config_file();  // of --config
  void check() const;       // Error: --config names data that are not there
  std::optional<Compute> compute_type() const;
  static std::span<const OptionField<QuantizeFlags>> fields();
};

}  // namespace hone
