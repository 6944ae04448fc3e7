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
#include "base/text.h"
#include "io/peft_config.h"
#include "ops/calls/transpose.h"
#include "ops/evaluate.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTensorFile = "adapter_model.safetensors";
constexpr std::string_view kPrefix = "base_model.model.";

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

// A tensor that is no part of an adapter: under the name that the model has it by, without what PEFT's wrappers put
// into names.
struct WholeTensor {
  std::string name;
  bool is_bias = false;  // trained beside the adapters; else a part of a module that was trained whole
  bool is_copy = false;  // what a module that was trained whole had been before
};

WholeTensor whole_tensor(const std::string& name, const PeftConfig& config) {
  WholeTensor whole;
  bool is_saved = false;
  std::vector<std::string> kept;
  const std::vector<std::string> parts = split(name, '.');
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == "original_module") whole.is_copy = true;
    else if (parts[i] == "modules_to_save") {
      is_saved = true;
      if (i + 1 < parts.size() && parts[i + 1] == "default") ++i;
    } else if (parts[i] != "base_layer") kept.push_back(parts[i]);
  }
  whole.name = fmt::format("{}", fmt::join(kept, "."));
  if (!kept.empty()) kept.pop_back();
  const std::string module = fmt::format("{}", fmt::join(kept, "."));
  is_saved =
      is_saved || std::ranges::any_of(config.saved_modules, [&](const auto& end) { return module.ends_with(end); });
  whole.is_bias = config.trains_biases && !is_saved && whole.name.ends_with(".bias");
  return whole;
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

// PEFT writes the biases of modules that are trained whole twice.
void add_whole(PeftAdapters& read, const WholeTensor& whole, const Tensor& tensor, const std::string& source) {
  if (whole.is_copy) return;
  std::vector<NamedTensor>& to = whole.is_bias ? read.biases : read.saved;
  const auto known = std::ranges::find(to, whole.name, &NamedTensor::name);
  if (known == to.end()) to.push_back({whole.name, tensor});
  else if (!known->tensor.same_bits(tensor)) fail("{}: {} is there twice, with different values", source, whole.name);
}

// As people write it: f32 holds 16/6 · 6 a little off.
double alpha_of(const AdapterTensors& adapter, int64_t rank, bool rslora) {
  const double n = static_cast<double>(rank), alpha = adapter.scaling * (rslora ? std::sqrt(n) : n);
  return std::stod(fmt::format("{:.6g}", alpha));
}

std::string module_of(const std::string& tensor) { return tensor.substr(0, tensor.rfind('.')); }

}  // namespace

PeftAdapters read_peft(const std::string& folder) {
  if (!fs::is_directory(folder))
    fail("{}: not a folder; adapters are one with {} and {}", folder, kAdapterConfig, kTensorFile);
  const std::string config_path = (fs::path(folder) / kAdapterConfig).string(),
                    path = (fs::path(folder) / kTensorFile).string();
  if (!fs::exists(config_path)) fail("{}: has no {}, which PEFT's save_pretrained writes", folder, kAdapterConfig);
  if (!fs::exists(path))
    fail("{}: has no {}{}", folder, kTensorFile,
         fs::exists(fs::path(folder) / "adapter_model.bin")
             ? "; adapter_model.bin is a pickle: model.save_pretrained(FOLDER, safe_serialization=True) writes what is "
               "read"
             : "");
  const PeftConfig config = read_peft_config(config_path);
  PeftAdapters read{.dropout = config.dropout, .rslora = config.rslora};
  const SafetensorsFile file(path);
  std::map<std::string, Parts> modules;
  for (const SafetensorsEntry& entry : file.entries()) {
    if (!entry.name.starts_with(kPrefix))
      fail("{}: {} does not begin with {}, as PEFT's names do", path, entry.name, kPrefix);
    expect_floats(entry, path);
    const std::string name = entry.name.substr(kPrefix.size());
    const auto part = std::ranges::find_if(kParts, [&](const auto& p) { return name.ends_with(p.first); });
    if (part == std::end(kParts)) add_whole(read, whole_tensor(name, config), file.tensor(entry.name), path);
    else
      modules[name.substr(0, name.size() - part->first.size())].tensors.emplace(part->second, file.tensor(entry.name));
  }
  if (modules.empty()) fail("{}: holds no adapters: none of {} tensors is called lora_A", path, file.entries().size());
  for (const auto& [module, parts] : modules) {
    AdapterTensors adapter = adapter_of(module, parts, path);
    if (config.dora != adapter.magnitude.has_value())
      fail("{}: {} has {} lora_magnitude_vector, and use_dora in {} is {}", path, module, config.dora ? "no" : "a",
           kAdapterConfig, config.dora);
    const auto rank = static_cast<double>(adapter.a.dim(adapter.is_table ? -1 : 0));
    adapter.scaling = config.alphas.of(module) / (read.rslora ? std::sqrt(rank) : rank);
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
  bool dora = false, all_biases = false;
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
    const std::string module = module_of(tensor.name);
    if (std::ranges::count(modules, module))
      fail(
          "{} was trained whole and has an adapter, and PEFT keeps one or the other of a module. Try: hone lora fuse, "
          "or "
          "train without an adapter there",
          module);
    if (!std::ranges::count(saved, module)) saved.push_back(module);
  }
  for (const NamedTensor& tensor : adapters.biases) {
    const std::string module = module_of(tensor.name);
    const bool is_adapted = std::ranges::count(modules, module) > 0;
    all_biases = all_biases || !is_adapted;
    tensors.push_back({std::string(kPrefix) + module + (is_adapted ? ".base_layer.bias" : ".bias"), tensor.tensor});
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
                 {"bias", all_biases                ? "all"
                          : adapters.biases.empty() ? "none"
                                                    : "lora_only"},
                 {"fan_in_fan_out", false},
                 {"use_rslora", adapters.rslora},
                 {"use_dora", dora},
                 {"rank_pattern", rank_pattern},
                 {"alpha_pattern", alpha_pattern}};
  std::error_code problem;
  if (!fs::create_directory(folder, problem))
    fail("{}: {}", folder, problem ? problem.message() : "is there already; give the name of a new folder");
  write_safetensors((fs::path(folder) / kTensorFile).string(), tensors, {{"format", "pt"}});
  write_file((fs::path(folder) / kAdapterConfig).string(), config.dump(2));
}

}  // namespace hone
