#include "jobs/lora.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"
#include "base/threads.h"
#include "io/hf_weights.h"
#include "io/peft.h"
#include "jobs/compiled_packer.h"
#include "jobs/untrained_lines.h"
#include "ops/calls/gather.h"
#include "ops/conv_weights.h"
#include "passes/layer.h"
#include "passes/pipelines.h"
#include "train/lora.h"
#include "train/training_form.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

Tensor plain_tensor(const Tensor& tensor) { return tensor.is_packed() ? unpack(tensor) : tensor; }

AdapterList list_of(const Graph& graph) {
  AdapterList list{.beside = sizes(graph).parameters};
  for (const Adapter& adapter : adapters_of(graph)) {
    const Tensor& weight = *graph.constant(adapter.weight);
    const std::string read =
        fmt::format("{} {}", to_string(weight.type()), graph.node(adapter.sites[0].layer).op->name);
    list.adapters.push_back({adapter.layer, read, graph.constant(adapter.b)->dim(1), adapter.scaling, {}, {}});
    for (ValueId part : {adapter.a, adapter.b, adapter.magnitude})
      if (part != kNone) list.elements += graph.constant(part)->elements();
  }
  list.beside -= list.elements;
  return list;
}

double energy(const std::vector<double>& values) {
  double sum = 0;
  for (double v : values) sum += v * v;
  return sum;
}

// What fusing does to one weight: the change's share of the weight, and how far the rounding is from what was asked.
struct Fusion {
  double weight = 0, change = 0, lost = 0;  // energies
};

Fusion fusion_of(const Graph& before, const Adapter& adapter, const Tensor& after) {
  Tensor wanted = fused_weight(before, adapter);
  if (wanted.shape() != after.shape()) wanted = conv_weight_matrix(wanted);
  std::vector<double> lost = wanted.to_doubles(), got = after.to_doubles();
  for (size_t i = 0; i < lost.size(); ++i) lost[i] -= got[i];
  return {.weight = energy(wanted.to_doubles()),
          .change = energy(weight_change(before, adapter).to_doubles()),
          .lost = energy(lost)};
}

double decibels(double signal, double noise) { return 10 * std::log10(signal / noise); }

// Of the model's own names, the one that a module of the adapters is about; the module's where there is none.
std::string layer_called(const std::string& module, const std::vector<std::string>& layers, const Model& model) {
  if (std::ranges::count(layers, module)) return module;
  std::vector<std::string> alike;
  for (const std::string& layer : layers) {
    for (const char* ending : {"", ".weight", ".bias"}) {
      const auto stored = model.stored_names.find(layer + ending);
      if (stored != model.stored_names.end() && stored->second == module + ending) return layer;
    }
    if (layer.ends_with("." + module) || module.ends_with("." + layer)) alike.push_back(layer);
  }
  return alike.size() == 1 ? alike[0] : module;
}

// Whole tensors of the folder take the place of the model's.
void set_saved(Graph& graph, const std::vector<NamedTensor>& saved, const Model& model) {
  std::vector<std::string> labels, wrong, names;
  for (ValueId id : graph.constants())
    if (!graph.value(id).label.empty()) labels.push_back(graph.value(id).label);
  for (const NamedTensor& tensor : saved) {
    const std::string label = layer_called(tensor.name, labels, model);
    const ValueId id = graph.find_constant(label);
    const Tensor* now = graph.constant(id);
    if (!now)
      wrong.push_back(
          fmt::format("{}: the model has no such tensor{}", tensor.name, did_you_mean(tensor.name, labels)));
    else if (now->shape() != tensor.tensor.shape() || now->is_packed())
      wrong.push_back(fmt::format("{}: is {}; the model has {}", tensor.name, to_string(tensor.tensor.type()),
                                  to_string(now->type())));
    else graph.set_constant(id, tensor.tensor.converted(now->dtype()));
    names.push_back(label);
  }
  if (!wrong.empty())
    fail("{}: {} of {} whole tensors do not fit the model (hone lora import --adapters-only leaves them out):\n  {}",
         model.path, wrong.size(), saved.size(), fmt::join(wrong, "\n  "));
  if (!names.empty()) graph.metadata[kLoraSaved] = fmt::format("{}", fmt::join(names, ","));
  graph.reinfer();
}

// What transformers calls the layers that stand behind an encoder: those have no prefix.
bool is_of_head(std::string_view label) {
  static constexpr std::string_view kHeads[] = {"classifier",
                                                "pre_classifier",
                                                "cls_classifier",
                                                "distillation_classifier",
                                                "projector",
                                                "text_projection",
                                                "visual_projection",
                                                "score",
                                                "qa_outputs",
                                                "cls",
                                                "lm_head",
                                                "mlm_head",
                                                "qa_head",
                                                "head",
                                                "heads",
                                                "decoder",
                                                "predictions",
                                                "sop_classifier",
                                                "lm_predictions",
                                                "vocab_transform",
                                                "vocab_layer_norm",
                                                "vocab_projector",
                                                "generator_lm_head",
                                                "generator_predictions",
                                                "discriminator_predictions"};
  return std::ranges::count(kHeads, label.substr(0, label.find('.'))) > 0;
}

// The model's folder's config.json; null where it has none.
Json config_of(const Model& model) {
  const auto config = model.files.find("config.json");
  return config == model.files.end() ? Json() : parse_json(config->second, model.path + ": config.json");
}

// The class that transformers makes of such a folder, "BertForSequenceClassification"; "" where that is not known.
std::string architecture_of(const Json& config) {
  const Json names = config.is_object() ? config.value("architectures", Json()) : Json();
  return names.is_array() && !names.empty() && names[0].is_string() ? names[0].get<std::string>() : "";
}

// Names of modules as that class has them: of its encoder behind a prefix where it is one with a head.
class ModuleNames {
 public:
  ModuleNames(const Model& model, std::string prefix) : path_(model.path), prefix_(std::move(prefix)) {
    const Json config = config_of(model);
    architecture_ = architecture_of(config);
    if (architecture_.empty()) return;
    of_encoder_ = weight_prefix(config);
    if (prefix_.empty() && !is_encoder() && !of_encoder_.empty()) prefix_ = of_encoder_ + ".";
  }

  std::string of(const std::string& label) const {
    return is_of_head(label) || label.starts_with(prefix_) ? label : prefix_ + label;
  }

  // Throws Error where the class has no such module, so that PEFT would pass over the tensor.
  void require_module(const std::string& label) const {
    if (is_of_head(label) && is_encoder() && prefix_.empty())
      fail(
          "{}: {} was trained with the adapters, and {}, which config.json names, has no such layer: PEFT would pass "
          "over it. Try: --prefix {}. and, in Python, the encoder with a head (AutoModelForSequenceClassification)",
          path_, label, architecture_, of_encoder_);
  }

 private:
  bool is_encoder() const { return architecture_.ends_with("Model"); }

  const std::string path_;
  std::string architecture_, prefix_, of_encoder_;  // what stands before the encoder's names in a class with a head
};

// The tensors that were trained beside the adapters, under their modules' names: a bias whose layer's weight was not
// trained goes with the adapters, others make their module one that was trained whole.
void add_saved(const Graph& graph, const ModuleNames& names, PeftAdapters& peft) {
  const auto found = graph.metadata.find(kLoraSaved);
  if (found == graph.metadata.end()) return;
  const std::vector<std::string> labels = split(found->second, ',');
  for (const std::string& label : labels) {
    const Tensor* tensor = graph.constant(graph.find_constant(label));
    if (!tensor) continue;
    names.require_module(label);
    const std::string module = label.substr(0, label.rfind('.'));
    const bool is_bias = label.ends_with(".bias") && !std::ranges::count(labels, module + ".weight");
    (is_bias ? peft.biases : peft.saved).push_back({names.of(label), plain_tensor(*tensor)});
  }
}

}  // namespace

InsertedAdapters insert_adapters(const Model& model, const LoraOptions& options) {
  TrainingForm form = training_form(model.graph);
  const std::vector<StoredTensor> unadapted = unadapted_weights(form.graph);
  Graph graph = run_pass(std::move(form.graph), LoraOptions::kPass, {.options = options});
  AdapterList list = list_of(graph);
  return {std::move(graph), std::move(list), passed_over_lines(unadapted, form.relaid, "without adapters")};
}

FusedAdapters fuse_adapters(const Model& model, const FuseLoraOptions& options) {
  const std::shared_ptr<const Packer> packer = compiled_packer();
  const Graph& before = model.graph;
  FusedAdapters result{.graph = run_pass(before, FuseLoraOptions::kPass, {.options = options, .packer = packer.get()}),
                       .list = list_of(before)};
  const Graph& after = result.graph;
  Fusion packed;
  size_t at = 0;
  for (const Adapter& adapter : adapters_of(before)) {
    const ValueId own = after.find_constant(adapter.layer + ".fused.weight");
    const Tensor& fused = *after.constant(own != kNone ? own : after.find_constant(before.value(adapter.weight).label));
    const Fusion fusion = fusion_of(before, adapter, fused);
    AdapterFacts& facts = result.list.adapters[at++];
    facts.change = std::sqrt(fusion.change / fusion.weight);
    if (!fused.is_packed()) continue;
    facts.kept_db = decibels(fusion.change, fusion.lost);
    packed.change += fusion.change, packed.lost += fusion.lost, ++result.packed;
  }
  if (result.packed > 0) result.kept_db = decibels(packed.change, packed.lost);
  return result;
}

ExportedAdapters export_adapters(const Model& model, const AdapterExport& options) {
  const Graph& graph = model.graph;
  const std::vector<Adapter> adapters = adapters_of(graph);
  if (adapters.empty()) fail("{}: has no adapters; hone lora insert or hone train --lora adds some", model.path);
  const auto stabilised = graph.metadata.find(kLoraStabilised);
  PeftAdapters peft{.dropout = lora_dropout(graph),
                    .rslora = stabilised != graph.metadata.end() && stabilised->second == "true"};
  const ModuleNames names(model, options.prefix);
  for (const Adapter& adapter : adapters) {
    const auto plain = [&](ValueId id) { return plain_tensor(*graph.constant(id)); };
    AdapterTensors tensors{.layer = names.of(layer_name(graph.value(adapter.weight).label)),
                           .a = plain(adapter.a),
                           .b = plain(adapter.b),
                           .scaling = adapter.scaling,
                           .is_table = graph.node(adapter.sites[0].layer).op == &gather_def};
    if (adapter.magnitude != kNone) tensors.magnitude = plain(adapter.magnitude);
    peft.adapters.push_back(std::move(tensors));
  }
  add_saved(graph, names, peft);
  write_peft(options.folder, peft);
  const PeftAdapters read = read_peft(options.folder);
  CHECK(read.adapters.size() == peft.adapters.size() && read.saved.size() == peft.saved.size() &&
        read.biases.size() == peft.biases.size());
  const fs::path file = fs::path(options.folder) / "adapter_model.safetensors";
  return {.list = list_of(graph),
          .folder = options.folder,
          .file = file.string(),
          .file_bytes = static_cast<int64_t>(fs::file_size(file)),
          .whole_tensors = static_cast<int64_t>(peft.saved.size()),
          .biases = static_cast<int64_t>(peft.biases.size())};
}

Graph with_adapters(const Model& model, PeftAdapters peft, bool adapters_only) {
  Graph graph = canonicalise_for_training(model.graph);
  std::vector<std::string> layers;
  for (const AdaptableLayer& layer : adaptable_layers(graph)) layers.push_back(layer.name);
  for (AdapterTensors& adapter : peft.adapters) adapter.layer = layer_called(adapter.layer, layers, model);
  graph = attach_adapters(std::move(graph), peft.adapters);
  std::vector<NamedTensor> whole = peft.biases;
  if (!adapters_only) whole.insert(whole.end(), peft.saved.begin(), peft.saved.end());
  set_saved(graph, whole, model);
  if (peft.dropout > 0) graph.metadata[kLoraDropout] = fmt::format("{}", peft.dropout);
  if (peft.rslora) graph.metadata[kLoraStabilised] = "true";
  return graph;
}

ImportedAdapters import_adapters(const Model& model, const AdapterImport& options) {
  const PeftAdapters peft = read_peft(options.folder);
  Graph graph = with_adapters(model, peft, options.adapters_only);
  AdapterList list = list_of(graph);
  return {.graph = std::move(graph),
          .list = std::move(list),
          .whole_tensors = static_cast<int64_t>(peft.saved.size()),
          .biases = static_cast<int64_t>(peft.biases.size()),
          .adapters_only = options.adapters_only};
}

}  // namespace hone
