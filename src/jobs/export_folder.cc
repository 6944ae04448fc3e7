#include "jobs/export_folder.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/file_name.h"
#include "base/mapped_file.h"
#include "base/stop.h"
#include "base/temporary.h"
#include "data/image_processor.h"
#include "importers/preprocessors.h"
#include "io/safetensors.h"
#include "io/tokenizer_files.h"
#include "io/weight_layouts/weight_layout.h"
#include "ir/bodies.h"
#include "jobs/text_inputs.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using Weights = std::map<std::string, Tensor>;

Weights weights_of(const Graph& graph) {
  Weights weights;
  for_each_graph(graph, [&](const Graph& each) {
    for (ValueId v : each.constants())
      if (!each.value(v).label.empty()) weights[each.value(v).label] = *each.constant(v);
  });
  return weights;
}

void take_packed(Weights& weights, const std::string& path) {
  std::string misfits;
  const Model packed = load_model(path);
  for (const auto& [name, tensor] : weights_of(packed.graph)) {
    if (!tensor.is_packed()) continue;
    const auto found = weights.find(name);
    if (found != weights.end() && found->second.shape() == tensor.shape()) found->second = tensor;
    else
      misfits += fmt::format("\n  {}: {}, but {} in the model", name, to_string(tensor.type()),
                             found == weights.end() ? "none" : to_string(found->second.type()));
  }
  if (!misfits.empty()) fail("{}: packed weights do not fit the model:{}", path, misfits);
}

// Tensors of the folder that hone's graph does not read: the pooler of a sentence encoder, say, which others would make
// up if it were missing.
void add_unread(Weights& weights, const Model& model) {
  for (const std::string& path : model.weight_files) {
    const SafetensorsFile file(path);
    for (const std::string& name : model.unused)
      if (file.find(name)) weights.emplace(name, file.tensor(name));
  }
}

// transformers gives a BertModel a pooler unless it is told not to, with weights of chance where it finds none.
void note_missing_pooler(const Json& config, const Weights& weights, std::vector<std::string>& notes) {
  const auto is_pooler = [](const auto& weight) { return weight.first.ends_with("pooler.dense.weight"); };
  if (config.value("architectures", Json()) != Json::array({"BertModel"}) || std::ranges::any_of(weights, is_pooler))
    return;
  notes.emplace_back(
      "the model has no pooler: load it with AutoModel.from_pretrained(FOLDER, add_pooling_layer=False), or "
      "transformers "
      "makes one up");
}

Json config_of(const Model& model, const Json& scheme) {
  const auto found = model.files.find("config.json");
  if (found == model.files.end())
    fail("{}: has no configuration, which a Hugging Face folder needs; give a model that was made from such a folder",
         model.path);
  Json config = parse_json(found->second, model.path + ": config.json");
  if (!config.is_object()) fail("{}: config.json holds {}; expected an object", model.path, config.type_name());
  config.erase("quantization_config");
  if (!scheme.is_null()) config["quantization_config"] = scheme;
  return config;
}

// Tokenizers, poolings and the like.
bool rides_along(const fs::path& file) {
  constexpr std::array<const char*, 3> kEndings{".json", ".txt", ".model"};
  return std::ranges::find(kEndings, file.extension()) != kEndings.end() && !file.stem().string().ends_with(".index");
}

// Where a file of the model's folder goes below the new one: its own name, and those of the folders that it is in.
// Empty for hidden ones, in which tools keep their own things.
fs::path place_of(const fs::path& file, int depth) {
  const std::vector<fs::path> parts(file.begin(), file.end());
  fs::path place;
  for (size_t i = parts.size() - static_cast<size_t>(depth) - 1; i < parts.size(); ++i) {
    if (parts[i].string().starts_with('.')) return {};
    if (!is_plain_file_name(parts[i].string()))
      fail("{}: the name holds what no file is given; rename it", file.string());
    place /= parts[i];
  }
  return place;
}

// The contents, also of links: a cache of Hugging Face's keeps all files elsewhere.
void copy_companions(const Model& model, const fs::path& folder) {
  constexpr size_t kMostBytes = size_t{256} << 20;
  for (auto it = fs::recursive_directory_iterator(model.path); it != fs::recursive_directory_iterator(); ++it) {
    check_stop();
    if (!it->is_regular_file() || !rides_along(it->path())) continue;
    const fs::path place = place_of(it->path(), it.depth());
    if (place.empty() || place == "config.json") continue;
    fs::create_directories((folder / place).parent_path());
    write_file((folder / place).string(), read_file(it->path().string(), kMostBytes));
  }
}

void write_companions(const Model& model, const fs::path& folder) {
  if (fs::is_directory(model.path)) return copy_companions(model, folder);
  for (const auto& [name, content] : model.files) {
    if (!is_plain_file_name(name)) fail("{}: carries a file \"{}\", which is no plain name", model.path, name);
    if (name != "config.json") write_file((folder / name).string(), content);
  }
  if (const std::string images = preprocessor_config_of(model); !images.empty())
    write_file((folder / kPreprocessorConfig).string(), images);
  // What texts are cut to, where Hugging Face's tokenizers look for it.
  const int64_t length = max_tokens(model);
  if (length < 1 || !has_tokenizer(model.files)) return;
  const auto stated = model.files.find(kTokenizerConfig);
  Json settings = stated == model.files.end() ? Json::object() : parse_json(stated->second, stated->first);
  settings["model_max_length"] = length;
  if (const auto lowercase = model.graph.metadata.find("tokenizer.lowercase");
      lowercase != model.graph.metadata.end() && model.files.contains(kVocabTxt))
    settings["do_lower_case"] = lowercase->second == "true";
  write_file((folder / kTokenizerConfig).string(), settings.dump(2));
}

void check_read_back(const std::string& path, const Weights& weights) {
  const Weights read = weights_of(load_model(path).graph);
  for (const auto& [name, tensor] : weights) {
    const auto found = read.find(name);
    // The scale of a whole nvfp4 tensor may differ in its last bit, of which the layout makes a note.
    const bool is_same = found != read.end() && found->second.type() == tensor.type() &&
                         (found->second.same_bits(tensor) || tensor.global().size() > 0);
    if (!is_same)
      fail("\"{}\" would come back as {}", name, found == read.end() ? "nothing" : to_string(found->second.type()));
  }
}

std::vector<FormatWeights> counted(const Weights& weights) {
  std::map<std::string, FormatWeights> by_format;
  for (const auto& [name, tensor] : weights) {
    const std::string format =
        tensor.is_packed() ? to_string(*tensor.format()) : std::string(to_string(tensor.dtype()));
    FormatWeights& stored = by_format[format];
    stored.format = format;
    ++stored.weights, stored.bytes += tensor.bytes();
  }
  std::vector<FormatWeights> all;
  for (auto& [format, stored] : by_format) all.push_back(std::move(stored));
  return all;
}

fs::path without_slash(const std::string& path) {
  const fs::path folder = path;
  return folder.has_filename() ? folder : folder.parent_path();
}

// A new folder next to where the finished one will be.
Temporary folder_beside(const fs::path& folder) {
  std::string pattern = folder.string() + ".XXXXXX";
  if (!::mkdtemp(pattern.data())) fail("{}: can't write here: {}", folder.string(), std::strerror(errno));
  const mode_t mask = ::umask(0);
  ::umask(mask);
  Temporary made(pattern);
  ::chmod(pattern.c_str(), 0777 & ~mask);
  return made;
}

void give_name(Temporary& unfinished, const fs::path& folder) {
  require_whole_mappings();
  if (::rename(unfinished.path().c_str(), folder.c_str()) != 0)
    fail("{}: can't be given its name: {}", folder.string(), std::strerror(errno));
  unfinished.release();
}

}  // namespace

FolderResult export_folder(const Model& model, const FolderExport& options) {
  const WeightLayoutDef& layout = writable_layout(options.layout);
  if (fs::exists(fs::symlink_status(without_slash(options.path))))
    fail("{}: is there already; give the name of a folder that is not", options.path);
  Weights weights = weights_of(model.graph), renamed;
  if (!options.packed.empty()) take_packed(weights, options.packed);
  for (const auto& [name, tensor] : weights) {
    const auto stored = model.stored_names.find(name);
    renamed[stored == model.stored_names.end() ? name : stored->second] = tensor;
  }
  if (fs::is_directory(model.path)) add_unread(renamed, model);
  WrittenWeights written = layout.write(renamed);
  const Json config = config_of(model, written.scheme);
  note_missing_pooler(config, renamed, written.notes);
  written.metadata["format"] = "pt";  // what Hugging Face's loader looks for
  const fs::path folder = without_slash(options.path), file = folder / "model.safetensors";
  try {
    if (!folder.parent_path().empty()) fs::create_directories(folder.parent_path());
    Temporary unfinished = folder_beside(folder);
    const fs::path inside = unfinished.path();
    write_companions(model, inside);
    write_file((inside / "config.json").string(), config.dump(2));
    write_safetensors((inside / "model.safetensors").string(), written.tensors, written.metadata);
    check_read_back(unfinished.path(), weights);
    give_name(unfinished, folder);
  } catch (const Error& e) {
    fail(
        "{}: can't be written as a folder: {}\nWhere passes have changed the weights, give the folder they came from, "
        "and this file with --packed",
        model.path, e.what());
  }
  return {.name = model.name,
          .path = options.path,
          .layout = layout.name,
          .weights = counted(weights),
          .notes = std::move(written.notes),
          .source = facts_of(model),
          .written = facts_of_written(file.string()),
          .environment = environment()};
}

}  // namespace hone
