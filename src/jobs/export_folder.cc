#include "jobs/export_folder.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/hash.h"
#include "io/weight_layouts.h"
#include "ir/bodies.h"
#include "measure/environment.h"

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
  const LoadedModel packed = load_model(path);
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
void add_unread(Weights& weights, const LoadedModel& model) {
  for (const std::string& path : model.weight_files) {
    const SafetensorsFile file(path);
    for (const std::string& name : model.unused)
      if (file.find(name)) weights.emplace(name, file.tensor(name));
  }
}

Json config_of(const LoadedModel& model, const Json& scheme) {
  const auto found = model.files.find("config.json");
  if (found == model.files.end())
    fail("{}: has no configuration, which a Hugging Face folder needs; give a model that was made from such a folder",
         model.path);
  Json config = parse_json(found->second, model.path + ": config.json");
  config.erase("quantization_config");
  if (!scheme.is_null()) config["quantization_config"] = scheme;
  return config;
}

// Tokenizers, poolings and the like.
bool rides_along(const fs::path& file) {
  constexpr std::array<const char*, 3> kEndings{".json", ".txt", ".model"};
  return std::ranges::find(kEndings, file.extension()) != kEndings.end() && !file.stem().string().ends_with(".index");
}

void copy_companions(const LoadedModel& model, const fs::path& folder) {
  for (const auto& [name, content] : model.files) write_file((folder / name).string(), content);
  if (!fs::is_directory(model.path)) return;
  for (const auto& entry : fs::recursive_directory_iterator(model.path)) {
    if (!entry.is_regular_file() || !rides_along(entry.path())) continue;
    const fs::path to = folder / fs::relative(entry.path(), model.path);
    fs::create_directories(to.parent_path());
    fs::copy_file(entry.path(), to, fs::copy_options::overwrite_existing);
  }
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

Table layout_table(const Weights& weights) {
  std::map<std::string, std::pair<int64_t, int64_t>> by_format;  // weights, bytes
  for (const auto& [name, tensor] : weights) {
    auto& [count, bytes] =
        by_format[tensor.is_packed() ? to_string(*tensor.format()) : to_string(tensor.dtype()).data()];
    ++count, bytes += tensor.bytes();
  }
  Table table{.key = "formats",
              .title = "Weights",
              .columns = {{"format", "format"},
                          {"weights", "weights", "", {NumberFormat::integer, 0}},
                          {"bytes", "bytes", "", {NumberFormat::bytes, 3}}},
              .rows = {}};
  for (const auto& [format, counted] : by_format)
    table.rows.push_back(
        {format, number(static_cast<double>(counted.first)), number(static_cast<double>(counted.second))});
  return table;
}

}  // namespace

Record export_folder(const LoadedModel& model, const FolderExport& options) {
  const WeightLayoutDef& layout = writable_layout(options.layout);
  if (fs::exists(options.path)) fail("{}: is there already; give the name of a folder that is not", options.path);
  Weights weights = weights_of(model.graph), renamed;
  if (!options.packed.empty()) take_packed(weights, options.packed);
  for (const auto& [name, tensor] : weights) {
    const auto stored = model.stored_names.find(name);
    renamed[stored == model.stored_names.end() ? name : stored->second] = tensor;
  }
  if (fs::is_directory(model.path)) add_unread(renamed, model);
  WrittenWeights written = layout.write(renamed);
  const Json config = config_of(model, written.scheme);
  written.metadata["format"] = "pt";  // what Hugging Face's loader looks for
  const std::string file = (fs::path(options.path) / "model.safetensors").string();
  try {
    fs::create_directories(options.path);
    copy_companions(model, options.path);
    write_file((fs::path(options.path) / "config.json").string(), config.dump(2));
    write_safetensors(file, written.tensors, written.metadata);
    check_read_back(options.path, weights);
  } catch (const Error& e) {
    std::error_code ignored;
    fs::remove_all(options.path, ignored);
    fail(
        "{}: can't be written as a folder: {}\nWhere passes have changed the weights, give the folder they came from, "
        "and this file with --packed",
        model.path, e.what());
  }
  Record record{.title = fmt::format("{} as {}", model.name, layout.name),
                .command = options.command,
                .findings = {fmt::format("{}: read back, each weight as it was", options.path)},
                .sections = {{"Model", {layout_table(weights)}}},
                .machine = describe(environment()),
                .manifest = {{"input", model.path, model.sha256(), model.file_bytes}}};
  record.findings.insert(record.findings.end(), written.notes.begin(), written.notes.end());
  record.manifest.push_back({"output", file, sha256_of_file(file), static_cast<int64_t>(fs::file_size(file))});
  return record;
}

}  // namespace hone
