#include "io/peft_config.h"

#include <algorithm>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/settings.h"

namespace hone {
namespace {

constexpr size_t kMaxConfig = 16 << 20;

// The keys of PEFT's LoraConfig (0.5 to 0.21). Which modules have adapters, and of which ranks, is in the tensors.
constexpr Setting kSettings[] = {
    // followed
    {"peft_type"},
    {"lora_alpha"},
    {"alpha_pattern"},
    {"lora_dropout"},
    {"use_rslora"},
    {"use_dora"},
    {"bias", R"("none" | "all" | "lora_only")"},
    {"modules_to_save"},
    // stated by the tensors
    {"r"},
    {"rank_pattern"},
    {"target_modules"},
    {"exclude_modules"},
    {"layers_to_transform"},
    {"layers_pattern"},
    // how adapters began, of those that leave the weights of the model as they are
    {"init_lora_weights", R"(true | false | "gaussian" | "eva" | "orthogonal")"},
    {"eva_config"},
    // where it came from and where it goes
    {"task_type"},
    {"auto_mapping"},
    {"base_model_name_or_path"},
    {"revision"},
    {"inference_mode"},
    {"peft_version"},
    {"runtime_config"},
    {"megatron_core"},
    {"qalora_group_size"},  // of use_qalora
    // read in one way alone
    {"fan_in_fan_out", "false"},
    {"lora_bias", "false"},
};

template <class T>
T value_or(const Json& config, const char* key, T usual, const std::string& source) {
  return config.contains(key) && !config[key].is_null() ? json_get<T>(config, key, source) : usual;
}

void check(const Json& config, const std::string& path) {
  if (!config.is_object()) fail("{}: holds {}; expected an object", path, config.type_name());
  const auto type = value_or<std::string>(config, "peft_type", "LORA", path);
  if (type != "LORA") fail("{}: the adapters are of type {}; only LORA is read", path, type);
  check_settings(config, kSettings, path);
}

}  // namespace

ModuleNumbers::ModuleNumbers(const Json& config, const char* key, double usual, const std::string& source)
    : usual_(usual) {
  if (!config.contains(key) || config[key].is_null()) return;
  if (!config[key].is_object())
    fail("{}: key \"{}\" is {}; expected an object", source, key, json_excerpt(config[key]));
  for (const auto& [name, value] : config[key].items()) {
    if (!value.is_number()) fail("{}: {}.{} is {}; expected a number", source, key, name, json_excerpt(value));
    std::string pattern = name.starts_with('^') ? name : "(?:.*\\.)?(?:" + name + ")";
    entries_.emplace_back(Regex(pattern), value.get<double>());
  }
}

double ModuleNumbers::of(const std::string& module) const {
  for (const auto& [regex, value] : entries_)
    if (regex.matches(module)) return value;
  return usual_;
}

PeftConfig read_peft_config(const std::string& path) {
  const Json config = parse_json(read_file(path, kMaxConfig), path);
  check(config, path);
  if (!config.contains("lora_alpha")) fail("{}: lacks the key \"lora_alpha\"", path);
  PeftConfig read{.alphas = ModuleNumbers(config, "alpha_pattern", json_get<double>(config, "lora_alpha", path), path),
                  .dropout = value_or(config, "lora_dropout", 0.0, path),
                  .rslora = value_or(config, "use_rslora", false, path),
                  .dora = value_or(config, "use_dora", false, path),
                  .trains_biases = value_or<std::string>(config, "bias", "none", path) != "none",
                  .saved_modules = value_or<std::vector<std::string>>(config, "modules_to_save", {}, path)};
  if (!(read.dropout >= 0 && read.dropout < 1))
    fail("{}: lora_dropout is {}; accepted: 0 to below 1", path, read.dropout);
  return read;
}

}  // namespace hone
