#include "cli/quantize_flags.h"

#include <filesystem>

namespace hone {

void QuantizeFlags::add_to(CLI::App& app) {
  add_fields(app, quantize_fields(), given);
  app.add_option("--config", config, "TOML file with the same keys; flags win");
  add_fields(app, calibration_fields(), given);
  compute_option =
      app.add_option("--compute", compute, "Store in the model what products read activations in: f32 or bf16")
          ->capture_default_str();
}

void QuantizeFlags::read() {
  if (!config.empty()) read_quantize_config(config, options, calibration, &plan);
  if (!plan.compute.empty() && compute_option->count() == 0) compute = plan.compute;
  const std::string named = calibration.file;
  set_fields(quantize_fields(), options, given);
  set_fields(calibration_fields(), calibration, given);
  if (!named.empty() && calibration.file == named && !std::filesystem::exists(named))
    fail("{}: names the calibration data {}, which is not there; give it with --calib", config, named);
}

void QuantizeFlags::read_by(RunFiles& files) const {
  files.reads("--config", config).reads("--calib", calibration.file);
}

std::optional<Compute> QuantizeFlags::compute_type() const {
  return compute.empty() ? std::nullopt : std::optional(parse_compute(compute));
}

}  // namespace hone
