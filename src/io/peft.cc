#include "io/peft.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/json.h"
#include "base/regex.h"
#include "ops/calls.h"
#include "ops/evaluate.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

constexpr const char *kConfigFile = "adapter_config.json", *kTensorFile = "adapter_model.safetensors";
constexpr std::string_view kPrefix = "base_model.model.";
constexpr size_t kMaxConfig = 16 << 20;

// What follows the module's name, and which part it is. PEFT writes magnitudes without .weight, its state has it.
enum class Part : uint8_t { a, b, table_a, table_b, magnitude };
constexpr std::pair<std::string_view, Part> kParts[] = {{".lora_A.weight", Part::a},
                                                        {".lora_B.weight", Part::b},
                                                        {".lora_embedding_A", Part::table_a},
                                                        {".lora_embedding_B", Part::table_b},
                                                        {".lora_magnitude_vector", Part::magnitude},
                                                        {".lora_magnitude_vector.weight", Part::magnitude}};

struct Parts {
  std::map<Part, Tensor> tensors;
};

Tensor transposed(const Tensor& matrix) {
  const Tensor* operand = &matrix;
  return evaluate_node(transpose_def, {&operand, 1}, {{"perm", std::vector<int64_t>{1, 0}}})[0];
}

template <class T>
T value_or(const Json& config, const char* key, T usual, const std::string& source) {
  return config.contains(key) && !config[key].is_null() ? json_get<T>(config, key, source) : usual;
}

// Numbers of single modules: keys are regular expressions that a module's name ends in.
class Pattern {
 public:
  Pattern(const Json& config, const char* key, double usual, const std::string& source) : usual_(usual) {
    if (!config.contains(key) || config[key].is_null()) return;
    if (!config[key].is_object())
      fail("{}: key \"{}\" is {}; expected an object", source, key, json_excerpt(config[key]));
    for (const auto& [name, value] : config[key].items()) {
      if (!value.is_number()) fail("{}: {}.{} is {}; expected a number", source, key, name, json_excerpt(value));
      std::string pattern = name.starts_with('^') ? name : "(?:.*\\.)?(?:" + name + ")";
      entries_.emplace_back(Regex(pattern), value.get<double>());
    }
  }
  double of(const std::string& module) const {
    for (const auto& [regex, value] : entries_)
      if (regex.matches(module)) return value;
    return usual_;
  }

 private:
  double usual_;
  std::vector<std::pair<Regex, double>> entries_;
};

Json read_config(const std::string& path) {
  Json config = parse_json(read_file(path, kMaxConfig), path);
  if (!config.is_object()) fail("{}: holds {}; expected an object", path, config.type_name());
  const auto type = value_or<std::string>(config, "peft_type", "LORA", path);
  if (type != "LORA") fail("{}: the adapters are of type {}; only LORA is read", path, type);
  if (value_or(config, "fan_in_fan_out", false, path))
    fail("{}: fan_in_fan_out is true, of models whose weights are [inputs, outputs]; hone has none", path);
  if (value_or(config, "lora_bias", false, path))
    fail("{}: lora_bias is true; adapters with biases are not read", path);
  return config;
}

AdapterTensors adapter_of(const std::string& module, const Parts& parts, const std::string& source) {
  const auto get = [&](Part part) {
    const auto found = parts.tensors.find(part);
    return found == parts.tensors.end() ? nullptr : &found->second;
  };
  const bool is_table = get(Part::table_a) || get(Part::table_b);
  const Tensor *a = get(is_table ? Part::table_a : Part::a), *b = get(is_table ? Part::table_b : Part::b);
  if (!a || !b || (is_table && (get(Part::a) || get(Part::b))))
    fail("{}: {} has {}; expected lora_A.weight and lora_B.weight, or lora_embedding_A and lora_embedding_B", source,
         module,
         a   ? "no B"
         : b ? "no A"
             : "neither A nor B");
  if (a->shape().size() < 2 || b->shape().size() < 2)
    fail("{}: {} has matrices of {} and {}", source, module, to_string(a->type()), to_string(b->type()));
  AdapterTensors adapter{
      .layer = module, .a = a->converted(DType::f32), .b = b->converted(DType::f32), .is_table = is_table};
  if (is_table) adapter.a = transposed(adapter.a);  // [r,V]
  if (const Tensor* magnitude = get(Part::magnitude))
    adapter.magnitude = magnitude->converted(DType::f32).reshaped({magnitude->elements()});
  return adapter;
}

void expect_floats(const SafetensorsEntry& entry, const std::string& source) {
  if (!is_float(entry.dtype))
    fail("{}: {} is {}; expected floating numbers", source, entry.name, to_string(entry.dtype));
}

// As people write it: f32 holds 16/6 · 6 a little off.
double alpha_of(const AdapterTensors& adapter, int64_t rank, bool rslora) {
  const double n = static_cast<double>(rank), alpha = adapter.scaling * (rslora ? std::sqrt(n) : n);
  return std::stod(fmt::format("{:.6g}", alpha));
}

}  // namespace

PeftAdapters read_peft(const std::string& folder) {
  if (!fs::is_directory(folder))
    fail("{}: not a folder; adapters are one with {} and {}", folder, kConfigFile, kTensorFile);
  const std::string config_path = (fs::path(folder) / kConfigFile).string(),
                    path = (fs::path(folder) / kTensorFile).string();
  if (!fs::exists(config_path)) fail("{}: has no {}, which PEFT's save_pretrained writes", folder, kConfigFile);
  if (!fs::exists(path))
    fail("{}: has no {}{}", folder, kTensorFile,
         fs::exists(fs::path(folder) / "adapter_model.bin")
             ? "; adapter_model.bin is a pickle: model.save_pretrained(FOLDER, safe_serialization=True) writes what is "
               "read"
             : "");
  const Json config = read_config(config_path);
  PeftAdapters read{.dropout = value_or(config, "lora_dropout", 0.0, config_path),
                    .rslora = value_or(config, "use_rslora", false, config_path)};
  if (!(read.dropout >= 0 && read.dropout < 1))
    fail("{}: lora_dropout is {}; accepted: 0 to below 1", config_path, read.dropout);
  if (!config.contains("lora_alpha")) fail("{}: lacks the key \"lora_alpha\"", config_path);
  const Pattern alphas(config, "alpha_pattern", json_get<double>(config, "lora_alpha", config_path), config_path);
  const bool dora = value_or(config, "use_dora", false, config_path);
  const SafetensorsFile file(path);
  std::map<std::string, Parts> modules;
  for (const SafetensorsEntry& entry : file.entries()) {
    if (!entry.name.starts_with(kPrefix))
      fail("{}: {} does not begin with {}, as PEFT's names do", path, entry.name, kPrefix);
    expect_floats(entry, path);
    const std::string name = entry.name.substr(kPrefix.size());
    const auto part = std::ranges::find_if(kParts, [&](const auto& p) { return name.ends_with(p.first); });
    if (part == std::end(kParts)) read.saved.push_back({name, file.tensor(entry.name)});
    else
      modules[name.substr(0, name.size() - part->first.size())].tensors.emplace(part->second, file.tensor(entry.name));
  }
  if (modules.empty()) fail("{}: holds no adapters: none of {} tensors is called lora_A", path, file.entries().size());
  for (const auto& [module, parts] : modules) {
    AdapterTensors adapter = adapter_of(module, parts, path);
    if (dora != adapter.magnitude.has_value())
      fail("{}: {} has {} lora_magnitude_vector, and use_dora in {} is {}", path, module, dora ? "no" : "a",
           kConfigFile, dora);
    const auto rank = static_cast<double>(adapter.a.dim(adapter.is_table ? -1 : 0));
    adapter.scaling = alphas.of(module) / (read.rslora ? std::sqrt(rank) : rank);
    if (!std::isfinite(adapter.scaling)) fail("{}: {} has rank 0", path, module);
    read.adapters.push_back(std::move(adapter));
  }
  return read;
}

void write_peft(const std::string& folder, const PeftAdapters& adapters) {
  std::map<std::string, int64_t> ranks;
  std::map<std::string, double> alphas;
  std::map<std::pair<int64_t, double>, int> counts;
  std::vector<NamedTensor> tensors;
  std::vector<std::string> modules, saved;
  bool dora = false;
  for (const AdapterTensors& adapter : adapters.adapters) {
    const bool table = adapter.is_table;
    const int64_t rank = adapter.b.dim(1);
    const double alpha = alpha_of(adapter, rank, adapters.rslora);
    ranks[adapter.layer] = rank, alphas[adapter.layer] = alpha;
    ++counts[{rank, alpha}];
    modules.push_back(adapter.layer);
    const std::string name = std::string(kPrefix) + adapter.layer;
    tensors.push_back(
        {name + (table ? ".lora_embedding_A" : ".lora_A.weight"), table ? transposed(adapter.a) : adapter.a});
    tensors.push_back({name + (table ? ".lora_embedding_B" : ".lora_B.weight"), adapter.b});
    if (adapter.magnitude) tensors.push_back({name + ".lora_magnitude_vector", *adapter.magnitude}), dora = true;
  }
  CHECK(!counts.empty());
  const auto usual = std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; })->first;
  Json rank_pattern = Json::object(), alpha_pattern = Json::object();
  for (const auto& [module, rank] : ranks)
    if (rank != usual.first) rank_pattern[module] = rank;
  for (const auto& [module, alpha] : alphas)
    if (alpha != usual.second) alpha_pattern[module] = alpha;
  for (const NamedTensor& tensor : adapters.saved) {
    tensors.push_back({std::string(kPrefix) + tensor.name, tensor.tensor});
    const std::string module = tensor.name.substr(0, tensor.name.rfind('.'));
    if (!std::ranges::count(saved, module)) saved.push_back(module);
  }
  Json config = {{"peft_type", "LORA"},
                 {"task_type", nullptr},
                 {"base_model_name_or_path", nullptr},
                 {"inference_mode", true},
                 {"r", usual.first},
                 {"lora_alpha", usual.second},
                 {"lora_dropout", adapters.dropout},
                 {"target_modules", modules},
                 {"modules_to_save", saved.empty() ? Json(nullptr) : Json(saved)},
                 {"bias", "none"},
                 {"fan_in_fan_out", false},
                 {"use_rslora", adapters.rslora},
                 {"use_dora", dora},
                 {"rank_pattern", rank_pattern},
                 {"alpha_pattern", alpha_pattern}};
  std::error_code problem;
  if (!fs::create_directory(folder, problem))
    fail("{}: {}", folder, problem ? problem.message() : "is there already; give the name of a new folder");
  write_safetensors((fs::path(folder) / kTensorFile).string(), tensors, {{"format", "pt"}});
  write_file((fs::path(folder) / kConfigFile).string(), config.dump(2));
}

}  // namespace hone
