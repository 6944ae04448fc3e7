// The options of quantisation as flags, read off their table (passes/quantize.h), --config and --calib.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/flags.h"
#include "jobs/quantize_model.h"

namespace hone {

struct QuantizeFlags {
  std::map<std::string, std::vector<std::string>> given;
  std::string config, compute;
  Calibration calibration;
  void add_to(CLI::App& app);
  QuantizeOptions options() const;  // the file's first, then the command line's
  std::optional<Compute> compute_type() const;
};

}  // namespace hone
