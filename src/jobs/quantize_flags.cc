#include "jobs/quantize_flags.h"

#include <filesystem>

namespace hone {
namespace {

constexpr OptionField<QuantizeFlags> kConfig[] = {
    flag("config", "TOML file with the same keys; flags win", &QuantizeFlags::config, {.file = OptionFile::reads})};
constexpr OptionField<QuantizeFlags> kCompute[] = {flag(
    "compute", "Type that products of the written model read activations in: f32 or bf16", &QuantizeFlags::compute)};

}  // namespace

std::span<const OptionField<QuantizeFlags>> QuantizeFlags::fields() {
  static const auto all = joined_fields<QuantizeFlags>(quantize_fields(), kConfig, calibration_fields(), kCompute);
  return all;
}

void QuantizeFlags::read_config_file() {
  read_quantize_config(config, *this, *this, &plan);
  if (!plan.compute.empty()) compute = plan.compute;
  calib_file = file;
}

void QuantizeFlags::check() const {
  if (!calib_file.empty() && file == calib_file && !std::filesystem::exists(file))
    fail("{}: names the calibration data {}, which is not there; give it with --calib", config, file);
}

std::optional<Compute> QuantizeFlags::compute_type() const {
  return compute.empty() ? std::nullopt : std::optional(parse_compute(compute));
}

}  // namespace hone
