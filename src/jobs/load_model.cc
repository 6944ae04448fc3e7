#include "jobs/load_model.h"

#include <fmt/ranges.h>

#include <filesystem>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/file_name.h"
#include "base/hash.h"
#include "io/artefact.h"
#include "io/gguf/gguf_file.h"
#include "io/hf_directory.h"
#include "io/onnx/import_model.h"
#include "io/tokenizer_files.h"
#include "ir/row_keys.h"
#include "jobs/adapters.h"
#include "jobs/preprocessors.h"
#include "models/find_model.h"
#include "passes/pipelines.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

LoadedModel load_folder(const std::string& path, const std::vector<std::string>& inputs) {
  HfDirectory folder(path);
  const ModelDef& def = model_for(folder.config(), folder.config_path());
  LoadedModel model;
  model.graph = def.build({.config = folder.config(),
                           .source = folder.config_path(),
                           .inputs = inputs,
                           .pooling = folder.pooling(),
                           .normalise = folder.normalise(),
                           .weights = folder.weight_source(),
                           .has_weight = [&](const std::string& name) { return folder.weights().has(name); }});
  folder.weights().check_complete();
  model.stored_names = folder.weights().stored_names();
  model.unused = folder.weights().unused();
  model.weight_files = folder.weights().paths();
  model.files["config.json"] = folder.config().dump();
  model.path = path;  // for errors
  if (fs::exists(fs::path(path) / kAdapterConfig)) model.graph = with_adapters(model, read_peft(path));
  if (!folder.prompts().empty()) model.graph.metadata[kTextPrompts] = folder.prompts().dump();
  if (!folder.default_prompt().empty()) model.graph.metadata[kTextPrompt] = folder.default_prompt();
  read_preprocessors(model, path);
  const TokenizerFiles& tokenizer = folder.tokenizer();
  if (tokenizer.vocabulary.empty()) return model;
  model.files.insert(tokenizer.vocabulary.begin(), tokenizer.vocabulary.end());
  model.files.insert(tokenizer.settings.begin(), tokenizer.settings.end());
  if (tokenizer.vocabulary.contains(kVocabTxt))  // other files say it themselves
    model.graph.metadata["tokenizer.lowercase"] = tokenizer.lowercase ? "true" : "false";
  if (tokenizer.max_length > 0) model.graph.metadata["tokenizer.max_length"] = std::to_string(tokenizer.max_length);
  return model;
}

LoadedModel load_onnx(const std::string& path, const std::vector<std::string>& inputs) {
  if (!inputs.empty()) fail("{}: an ONNX file has its inputs fixed; --inputs chooses those of a folder", path);
  OnnxImport import = import_onnx(path);
  if (!import.unsupported.empty()) throw Error(unsupported_text(path, import.unsupported));
  LoadedModel model;
  // Weights that the file has as codes and scales stay that small.
  model.graph = run_pass(std::move(import.graph), "recognise_packed");
  std::erase_if(model.graph.metadata, [&](const auto& entry) {
    if (!entry.first.starts_with(kCarriedFile)) return false;
    const std::string name = entry.first.substr(std::string_view(kCarriedFile).size());
    if (!is_plain_file_name(name)) fail("{}: carries a file \"{}\", which is no plain name", path, name);
    model.files[name] = entry.second;
    return true;
  });
  model.weight_files = std::move(import.files);
  return model;
}

// "210 Q4_1, 61 F32, 1 Q8_0"
std::string types_of(const GgufFile& file) {
  std::map<std::string_view, int> counts;
  for (const GgufEntry* entry : file.entries()) ++counts[entry->type->name];
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts) parts.push_back(fmt::format("{} {}", count, name));
  return fmt::format("{}", fmt::join(parts, ", "));
}

[[noreturn]] void refuse_gguf(const std::string& path) {
  const GgufFile file(path);
  fail(
      "{}: a whole GGUF file of architecture \"{}\" with {} tensors ({}), of which no graph is built; give the model's "
      "Hugging Face folder (config.json and model.safetensors)",
      path, file.architecture(), file.entries().size(), types_of(file));
}

LoadedModel load_file(const std::string& path, const std::vector<std::string>& inputs) {
  refuse_pickle(path);
  if (is_gguf_path(path)) refuse_gguf(path);
  if (path.ends_with(".onnx")) return load_onnx(path, inputs);
  if (!path.ends_with(".safetensors"))
    fail(
        "{}: not a model that hone opens; give a Hugging Face folder (config.json and model.safetensors), an .onnx "
        "file, or a .safetensors file that hone wrote",
        path);
  if (!is_artefact(path))
    fail("{}: holds weights but no graph; give the folder it lies in, with its config.json", path);
  if (!inputs.empty())
    fail("{}: was written with its inputs fixed; choose --inputs when it is made from the folder", path);
  Artefact artefact = load_artefact(path);
  LoadedModel model;
  model.graph = std::move(artefact.graph);
  for (auto& [name, content] : artefact.files)
    (name.starts_with(kObjectFiles) ? model.objects : model.files).emplace(name, std::move(content));
  model.weight_files = {path};
  return model;
}

}  // namespace

std::string LoadedModel::sha256() const {
  if (weight_files.size() == 1) return sha256_of_file(weight_files[0]);
  Sha256 all;
  for (const std::string& file : weight_files) all.update(sha256_of_file(file));
  return all.hex();
}

LoadedModel load_model(const std::string& path, const std::vector<std::string>& inputs) {
  if (!fs::exists(path)) fail("{}: no such file or folder", path);
  LoadedModel model = fs::is_directory(path) ? load_folder(path, inputs) : load_file(path, inputs);
  model.path = path;
  model.name = fs::path(path).lexically_normal().filename().string();
  if (model.name.empty() || model.name == ".")
    model.name = fs::absolute(path).lexically_normal().parent_path().filename().string();
  for (const std::string& file : model.weight_files) model.file_bytes += static_cast<int64_t>(fs::file_size(file));
  return model;
}

}  // namespace hone
