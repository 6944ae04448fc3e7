#include "cli/quantize_flags.h"

namespace hone {

void QuantizeFlags::add_to(CLI::App& app) {
  for (const auto& field : quantize_fields()) {
    if (field.kind() == OptionKind::flag) {
      app.add_flag_callback(
          "--" + std::string(field.name), [this, &field] { given[field.name] = {"true"}; }, field.doc);
      continue;
    }
    CLI::Option* option = app.add_option("--" + std::string(field.name), given[field.name], field.doc);
    if (field.kind() == OptionKind::list) option->allow_extra_args(false);
    else option->expected(1);
  }
  app.add_option("--config", config, "TOML file with the same keys; flags win");
  app.add_option("--calib", calibration.file,
                 "Calibration data: .txt with a text a line, .npz with arrays named like the inputs, or .npy");
  app.add_option("--calib-batch", calibration.batch, "Samples of it that run at once")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--compute", compute, "Store in the model what products read activations in: f32 or bf16")
      ->capture_default_str();
}

QuantizeOptions QuantizeFlags::options() const {
  QuantizeOptions options;
  if (!config.empty()) read_quantize_config(config, options);
  for (const auto& [name, values] : given)
    if (!values.empty()) set_option(quantize_fields(), options, name, values);
  return options;
}

std::optional<Compute> QuantizeFlags::compute_type() const {
  return compute.empty() ? std::nullopt : std::optional(parse_compute(compute));
}

}  // namespace hone
