#include "io/hf_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/file_name.h"
#include "base/json.h"
#include "base/text.h"

namespace hone {
namespace fs = std::filesystem;
namespace {

constexpr std::array<std::string_view, 5> kPickleEndings{".bin", ".pt", ".pth", ".pkl", ".ckpt"};

bool replace_ending(std::string& text, std::string_view ending, std::string_view with) {
  if (!text.ends_with(ending)) return false;
  text.replace(text.size() - ending.size(), ending.size(), with);
  return true;
}

// The names under which files may hold what a builder calls `name`, most likely first.
std::vector<std::string> spellings(const std::string& name, const std::string& prefix) {
  std::vector<std::string> all{name};
  if (!prefix.empty())
    all.push_back(name.starts_with(prefix + ".") ? name.substr(prefix.size() + 1) : prefix + "." + name);
  for (size_t i = 0, n = all.size(); i < n; ++i) {
    std::string old = all[i];
    if (replace_ending(old, "LayerNorm.weight", "LayerNorm.gamma") ||
        replace_ending(old, "LayerNorm.bias", "LayerNorm.beta"))
      all.push_back(old);
  }
  return all;
}

// The files that weight_map names, each once.
std::set<std::string> shard_names(const Json& index, const std::string& source) {
  const Json map = json_get<Json>(index, "weight_map", source);
  if (!map.is_object())
    fail("{}: key \"weight_map\" is {}; expected an object from tensor to file", source, map.type_name());
  std::set<std::string> names;
  for (const auto& [tensor, file] : map.items()) {
    if (!file.is_string())
      fail("{}: weight_map: \"{}\" is {}; expected a file name", source, tensor, json_excerpt(file));
    const auto name = file.get<std::string>();
    if (!is_plain_file_name(name))
      fail("{}: weight_map: \"{}\" is in \"{}\"; expected a file of the same folder, without / or ..", source, tensor,
           name);
    names.insert(name);
  }
  return names;
}

}  // namespace

std::string weight_prefix(const Json& config) {
  if (!config.contains("model_type") || !config["model_type"].is_string()) return "";
  const auto type = config["model_type"].get<std::string>();
  if (type == "xlm-roberta" || type == "camembert") return "roberta";
  if (type == "gpt2") return "transformer";
  for (const char* family :
       {"modernbert", "llama", "mistral", "qwen2", "qwen3", "smollm3", "opt", "phi3", "gemma2", "gemma3_text"})
    if (type == family) return "model";
  if (type == "whisper" || type == "t5" || type.starts_with("clip")) return "";  // they differ by class
  return type.substr(0, type.find("-v"));
}

void refuse_pickle(const std::string& path) {
  const std::string ending = fs::path(path).extension().string();
  if (std::find(kPickleEndings.begin(), kPickleEndings.end(), ending) == kPickleEndings.end()) return;
  const std::string target = fs::path(path).replace_filename("model.safetensors").string();
  fail(
      "{}: a pickle, which runs code when it is read, so hone does not. Convert it once where you trust it: python -c "
      "\"import torch, "
      "safetensors.torch as s; s.save_file({{k: v.clone().contiguous() for k, v in torch.load('{}', "
      "map_location='cpu', weights_only=True).items()}}, "
      "'{}')\"",
      path, path, target);
}

namespace {

[[noreturn]] void refuse_absent(const fs::path& folder) {
  std::vector<std::string> others;
  for (const auto& entry : fs::directory_iterator(folder)) others.push_back(entry.path().string());
  std::sort(others.begin(), others.end());
  for (const std::string& other : others)
    if (fs::path(other).filename() != "training_args.bin") refuse_pickle(other);
  fail("{}: the folder has no weights; expected model.safetensors, or model.safetensors.index.json with its shards",
       folder.string());
}

}  // namespace

HfWeights::HfWeights(const std::string& path, std::string prefix, Json scheme)
    : path_(path), prefix_(std::move(prefix)), scheme_(std::move(scheme)) {
  const fs::path base(path);
  const std::string single = (base / "model.safetensors").string(), index = single + ".index.json";
  if (!fs::is_directory(base)) add_file(path);
  else if (fs::exists(single)) add_file(single);
  else if (fs::exists(index)) open_shards(index);
  else refuse_absent(base);
}

void HfWeights::open_shards(const std::string& index_path) {
  const Json index = read_json_file(index_path);
  for (const std::string& name : shard_names(index, index_path)) {
    const std::string shard = (fs::path(path_) / name).string();
    if (!fs::exists(shard))
      fail("{}: weight_map names {}, which is not there; copy the file, or all of the folder again", index_path, shard);
    add_file(shard);
  }
  for (const auto& [tensor, file] : index["weight_map"].items()) {
    const auto place = places_.find(tensor);
    if (place == places_.end() || fs::path(files_[place->second.file].path()).filename() != file.get<std::string>())
      fail("{}: weight_map lists \"{}\", which {} does not hold", index_path, tensor, file.get<std::string>());
  }
}

void HfWeights::add_file(const std::string& path) {
  files_.emplace_back(path);
  for (const SafetensorsEntry& entry : files_.back().entries()) {
    const auto [place, added] = places_.emplace(entry.name, Place{files_.size() - 1});
    if (!added) fail("{}: tensor \"{}\" is also in {}", path, entry.name, files_[place->second.file].path());
  }
}

std::vector<std::string> HfWeights::paths() const {
  std::vector<std::string> paths;
  for (const SafetensorsFile& file : files_) paths.push_back(file.path());
  return paths;
}

std::vector<std::string> HfWeights::names() const {
  std::vector<std::string> names;
  for (const auto& [name, place] : places_) names.push_back(name);
  return names;
}

bool HfWeights::has(const std::string& name) const {
  for (const std::string& spelling : spellings(name, prefix_))
    if (places_.contains(spelling) || layout_of(spelling)) return true;
  return false;
}

const WeightLayoutDef* HfWeights::layout_of(const std::string& name) const {
  return weight_layout_of(name, [this](const std::string& part) { return places_.contains(part); });
}

std::optional<Tensor> HfWeights::find(const std::string& name) {
  const auto found = places_.find(name);
  if (found == places_.end()) return std::nullopt;
  found->second.used = true;
  return files_[found->second.file].tensor(name);
}

Tensor HfWeights::quantized(const WeightLayoutDef& layout, const std::string& name, const std::vector<int64_t>& shape) {
  const auto metadata = [this](const std::string& key) -> std::optional<std::string> {
    for (const SafetensorsFile& file : files_)
      if (const auto text = file.metadata().find(key); text != file.metadata().end()) return text->second;
    return std::nullopt;
  };
  try {
    return layout.read({[this](const std::string& part) { return find(part); }, metadata, scheme_}, name, shape);
  } catch (const Error& e) {
    fail("{}: {}", path_, e.what());
  }
}

Tensor HfWeights::tensor(const std::string& name, const std::vector<int64_t>& shape) {
  for (const std::string& spelling : spellings(name, prefix_)) {
    const WeightLayoutDef* layout = layout_of(spelling);
    const auto found = places_.find(spelling);
    if (!layout && found == places_.end()) continue;
    if (spelling != name) stored_names_[name] = spelling;
    if (layout) return quantized(*layout, spelling, shape);
    found->second.used = true;
    const SafetensorsFile& file = files_[found->second.file];
    const SafetensorsEntry& entry = *file.find(spelling);
    if (entry.shape == shape) {
      Tensor stored = file.tensor(spelling);
      return stored.dtype() == DType::f64 ? stored.converted(DType::f32) : stored;
    }
    wrong(fmt::format("\"{}\" is [{}]; the configuration asks for [{}]{}", spelling, fmt::join(entry.shape, ","),
                      fmt::join(shape, ","), keys_of(entry.shape, shape)));
    return placeholder(shape);
  }
  wrong(fmt::format("\"{}\" [{}] is missing{}", name, fmt::join(shape, ","), did_you_mean(name, names())));
  return placeholder(shape);
}

// " (3: id2label, num_labels)": what of the configuration says the sizes that are not the file's.
std::string HfWeights::keys_of(const std::vector<int64_t>& found, const std::vector<int64_t>& asked) const {
  std::vector<std::string> said;
  for (size_t axis = 0; axis < asked.size(); ++axis) {
    if (axis < found.size() && found[axis] == asked[axis]) continue;
    std::vector<std::string> keys;
    for (const auto& [key, value] : config_.items())
      if ((value.is_number_integer() && value == asked[axis]) ||
          (key == "id2label" && std::ssize(value) == asked[axis]))
        keys.push_back(key);
    if (!keys.empty()) said.push_back(fmt::format("{}: {}", asked[axis], fmt::join(keys, ", ")));
  }
  return said.empty() ? "" : fmt::format(" ({})", fmt::join(said, "; "));
}

// A configuration of a million layers would go on for long.
void HfWeights::wrong(std::string line) {
  constexpr size_t kMost = 100;
  wrong_.push_back(std::move(line));
  if (wrong_.size() == kMost) check_complete();
}

// Zeros in place of a tensor that can't be had. A configuration with absurd sizes must not make us allocate them.
Tensor HfWeights::placeholder(const std::vector<int64_t>& shape) {
  constexpr int64_t kMostBytes = int64_t{1} << 30;
  int64_t elements = 0;
  try {
    elements = element_count(shape);
  } catch (const Error&) {
    check_complete();  // says which tensor it is
    throw;
  }
  if (elements > (kMostBytes - placeholder_bytes_) / 4) check_complete();
  placeholder_bytes_ += elements * 4;
  return Tensor(DType::f32, shape);
}

void HfWeights::check_complete() const {
  if (wrong_.empty()) return;
  fail("{}: the weights do not fit the configuration:\n  {}", path_, fmt::join(wrong_, "\n  "));
}

std::vector<std::string> HfWeights::unused() const {
  std::vector<std::string> names;
  for (const auto& [name, place] : places_)
    if (!place.used) names.push_back(name);
  return names;
}

}  // namespace hone
