#include "jobs/build_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/utf8.h"
#include "io/artefact.h"
#include "io/hf_weights.h"
#include "jobs/default_inputs.h"
#include "jobs/run_options.h"
#include "jobs/text_inputs.h"
#include "models/find_model.h"
#include "models/random_weights.h"
#include "ops/calls/batch_norm.h"

namespace hone {
namespace {

constexpr OptionField<BuildOptions> kFields[] = {
    required_flag("model", "A known model (resnet18, mobilenet_v3_small, convnet, mlp, ...), or a configuration, .json",
                  &BuildOptions::model, {.is_positional = true}),
    flag("set", "A key of the configuration to change, e.g. num_classes=10 (repeatable)", &BuildOptions::keys,
         {.value = "KEY=VALUE"}),
    flag("weights", "Tensors under torchvision's or Hugging Face's names, .safetensors (default: random)",
         &BuildOptions::weights, {.file = OptionFile::reads}),
    flag("seed", "Random seed for generated weights", &BuildOptions::seed),
    flag("inputs", "Inputs of the graph, e.g. input_ids,attention_mask,labels", &BuildOptions::inputs,
         {.has_commas = true, .takes_several = true}),
    flag("tokenizer", "A tokenizer.json or vocab.txt, or a folder with one, that goes along for texts",
         &BuildOptions::tokenizer, {.file = OptionFile::reads})};

// As JSON where the text is that, otherwise as a text.
Json value_of(const std::string& key, const std::string& text) {
  if (!is_valid_utf8(text)) fail("--set {}: \"{}\" is not UTF-8", key, text);
  try {
    return parse_json(text, "--set " + key);
  } catch (const Error&) {
    return text;
  }
}

Json config_of(const BuildOptions& options) {
  Json config = options.model.ends_with(".json") ? read_json_file(options.model) : preset_config(options.model);
  if (!config.is_object()) fail("{}: holds {}; expected an object", options.model, config.type_name());
  std::vector<std::string> keys;
  for (const auto& [key, value] : config.items()) keys.push_back(key);
  std::map<std::string, std::string> set = options.set;
  set.merge(parse_pairs(options.keys, "--set"));
  for (const auto& [key, text] : set) {
    if (!config.contains(key))
      fail("{}: has no key \"{}\"; it has {}{}", options.model, key, fmt::join(keys, ", "), did_you_mean(key, keys));
    config[key] = value_of(key, text);
  }
  return config;
}

// Counts of the batches that running statistics come from, and 0, 1, 2, … which older files hold as a tensor: PyTorch
// saves them with the weights, and nothing reads them.
bool is_buffer(const std::string& tensor) {
  return tensor.ends_with("num_batches_tracked") || tensor.ends_with("embeddings.position_ids");
}

// Classifiers have it before the names of their encoder: "bert.embeddings…" beside "classifier.weight". Configurations
// that are presets or written by hand may name no model type; then it is the family's name.
std::string prefix_of(const ModelDef& def, const Json& config) {
  const std::string prefix = weight_prefix(config), family = def.name;
  return prefix.empty() ? family.substr(0, family.find("_v")) : prefix;
}

void check_all_used(const HfWeights& weights, const BuildOptions& options) {
  std::vector<std::string> unused = weights.unused();
  std::erase_if(unused, is_buffer);
  if (!unused.empty())
    fail("{}: holds {} that {} does not have: {}", options.weights, unused.size() == 1 ? "a tensor" : "tensors",
         options.model, fmt::join(unused, ", "));
}

void build_on_file(Model& model, const ModelDef& def, ModelRequest request, const BuildOptions& options) {
  refuse_pickle(options.weights);
  if (options.weights.ends_with(".safetensors") && is_artefact(options.weights))
    fail("{}: is a whole model that hone wrote already; --weights takes a file of tensors", options.weights);
  HfWeights weights(options.weights, prefix_of(def, request.config));
  request.weights = [&](const std::string& name, const std::vector<int64_t>& shape) {
    return weights.tensor(name, shape);
  };
  request.has_weight = [&](const std::string& name) { return weights.has(name); };
  model.graph = def.build(request);
  weights.check_complete();
  check_all_used(weights, options);
  model.weight_files = weights.paths();
  for (const std::string& file : model.weight_files)
    model.file_bytes += static_cast<int64_t>(std::filesystem::file_size(file));
}

// Under the name by which tokenizers are found; one that is not understood is an error now, not when texts come.
void add_tokenizer(Model& model, std::filesystem::path path) {
  if (std::filesystem::is_directory(path))
    path /= std::filesystem::exists(path / "tokenizer.json") ? "tokenizer.json" : "vocab.txt";
  if (path.filename() != "tokenizer.json" && path.filename() != "vocab.txt")
    fail("--tokenizer {}: expected tokenizer.json, vocab.txt or a folder with one of them", path.string());
  model.files[path.filename()] = read_file(path);
  tokenizer_of(model);
}

// One image of 224x224, or a few smaller ones: enough to know the statistics of the deepest layers.
Bindings sizes_for_statistics(const Graph& graph) {
  const Bindings one = bind_symbols(graph, {});
  int64_t values = 0;
  for (ValueId input : graph.arguments()) values += element_count(evaluate(graph.type(input).shape, one));
  return bind_symbols(graph, {.batch = std::clamp<int64_t>(3 * 224 * 224 / values, 1, 8)});
}

}  // namespace

std::span<const OptionField<BuildOptions>> BuildOptions::fields() { return kFields; }

Model build_model(const BuildOptions& options) {
  const Json config = config_of(options);
  const ModelDef& def = model_for(config, options.model);
  const ModelRequest request{.config = config,
                             .source = options.model,
                             .inputs = options.inputs,
                             .pooling = {},
                             .weights = random_weights(options.seed)};
  Model model;
  model.path = model.name = options.model;
  model.files["config.json"] = config.dump();
  if (!options.tokenizer.empty()) add_tokenizer(model, options.tokenizer);
  if (!options.weights.empty()) {
    build_on_file(model, def, request, options);
    return model;
  }
  model.graph = def.build(request);
  if (!model.graph.nodes(batch_norm_def).empty())
    settle_batch_norms(model.graph, sizes_for_statistics(model.graph), options.seed);
  model.graph.metadata["random_weights"] = fmt::format("seed {}", options.seed);
  return model;
}

BuildResult build_to_file(const BuildOptions& options, const std::string& path) {
  const Model model = build_model(options);
  refuse_source_as_output(path, model);
  BuildResult result{.name = model.name,
                     .path = path,
                     .options = options,
                     .config = model.files.at("config.json"),
                     .parameters = sizes(model.graph).parameters,
                     .saved = save_model(path, model.graph, model),
                     .written = {path, sha256_of_file(path)},
                     .environment = environment()};
  result.written.bytes = result.saved.bytes;  // of all files
  if (!options.weights.empty()) result.source = FileFacts{options.weights, model.sha256(), model.file_bytes};
  return result;
}

}  // namespace hone
