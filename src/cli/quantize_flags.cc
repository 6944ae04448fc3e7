#include "cli/quantize_flags.h"

#include <filesystem>

namespace hone {
namespace {

template <class T>
void add_fields(CLI::App& app, std::span<const OptionField<T>> fields,
                std::map<std::string, std::vector<std::string>>& given) {
  for (const OptionField<T>& field : fields) {
    const std::string name = field.name;
    if (const auto* flag = std::get_if<bool T::*>(&field.member)) {
      if (T{}.**flag)
        app.add_flag_callback(
            "--no-" + name, [&given, name] { given[name] = {"false"}; }, "turn off that " + std::string(field.doc));
      else
        app.add_flag_callback(
            "--" + name, [&given, name] { given[name] = {"true"}; }, field.doc);
      continue;
    }
    CLI::Option* option = app.add_option("--" + name, given[name], field.doc);
    if (field.kind() == OptionKind::list) option->allow_extra_args(false);
    else option->expected(1);
  }
}

template <class T>
void set_fields(std::span<const OptionField<T>> fields, T& options,
                const std::map<std::string, std::vector<std::string>>& given) {
  for (const OptionField<T>& field : fields)
    if (const auto found = given.find(field.name); found != given.end() && !found->second.empty())
      set_option(fields, options, field.name, found->second);
}

}  // namespace

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
