#include "jobs/adapters.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/threads.h"
#include "codegen/llvm/compiled_packer.h"
#include "io/peft.h"
#include "jobs/save_model.h"
#include "measure/environment.h"
#include "ops/calls.h"
#include "ops/conv_weights.h"
#include "passes/layer.h"
#include "passes/pipelines.h"
#include "train/train_graph.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

constexpr NumberStyle kCount{NumberFormat::integer, 0}, kFigure{NumberFormat::significant, 3},
    kDecibels{NumberFormat::fixed, 1};

Tensor plain_tensor(const Tensor& tensor) { return tensor.is_packed() ? unpack(tensor) : tensor; }

struct Total {
  size_t adapters = 0;
  int64_t elements = 0, beside = 0;
};

Total total_of(const Graph& graph, const std::vector<Adapter>& adapters) {
  Total total{.adapters = adapters.size(), .beside = sizes(graph).parameters};
  for (const Adapter& adapter : adapters)
    for (ValueId part : {adapter.a, adapter.b, adapter.magnitude})
      if (part != kNone) total.elements += graph.constant(part)->elements();
  total.beside -= total.elements;
  return total;
}

std::string total_text(const Total& total) {
  return fmt::format("{} adapters of {} weights beside {} ({:.2f} %)", total.adapters, total.elements, total.beside,
                     100.0 * static_cast<double>(total.elements) / static_cast<double>(total.beside));
}

Table adapter_table() {
  return {.key = "adapters",
          .title = "Adapters",
          .columns = {{"layer", "layer"},
                      {"weight", "weight"},
                      {"rank", "rank", "", kCount},
                      {"scaling", "scaling", "", {NumberFormat::significant, 4}}},
          .rows = {}};
}

std::vector<Cell> adapter_row(const Graph& graph, const Adapter& adapter) {
  const Tensor& weight = *graph.constant(adapter.weight);
  return {adapter.layer, fmt::format("{} {}", to_string(weight.type()), graph.node(adapter.sites[0].layer).op->name),
          number(static_cast<double>(graph.constant(adapter.b)->dim(1))), number(adapter.scaling)};
}

Record record_of(const LoadedModel& model, const std::string& title, const std::string& command, Table table) {
  Record record{.title = fmt::format("{}: {}", model.name, title),
                .command = command,
                .findings = {},
                .sections = {{"Adapters", {std::move(table)}}},
                .machine = describe(environment()),
                .manifest = {}};
  if (!model.weight_files.empty()) record.manifest.push_back({"input", model.path, model.sha256(), model.file_bytes});
  return record;
}

void write(Record& record, const Graph& graph, const LoadedModel& model, const std::string& output) {
  const SavedModel saved = save_model(output, graph, model);
  add_check(record, output, saved);
  record.manifest.push_back({"output", output, sha256_of_file(output), saved.bytes});
}

Record adapted_record(const LoadedModel& model, const Graph& graph, const std::string& title,
                      const std::string& command) {
  const std::vector<Adapter> adapters = adapters_of(graph);
  Table table = adapter_table();
  for (const Adapter& adapter : adapters) table.rows.push_back(adapter_row(graph, adapter));
  Record record = record_of(model, title, command, std::move(table));
  record.findings.push_back(total_text(total_of(graph, adapters)));
  return record;
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
std::string layer_called(const std::string& module, const std::vector<std::string>& layers, const LoadedModel& model) {
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

void set_saved(Graph& graph, const std::vector<NamedTensor>& saved, const LoadedModel& model) {
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
    fail("{} of {} whole tensors do not fit the model (--adapters-only leaves them out):\n  {}", wrong.size(),
         saved.size(), fmt::join(wrong, "\n  "));
  if (!names.empty()) graph.metadata[kLoraSaved] = fmt::format("{}", fmt::join(names, ","));
  graph.reinfer();
}

}  // namespace

Record insert_adapters(const LoadedModel& model, const LoraOptions& options, const std::string& output,
                       const std::string& command) {
  const Graph graph = run_pass(canonicalise_for_training(model.graph), LoraOptions::kPass, {.options = options});
  Record record = adapted_record(model, graph, "adapters inserted", command);
  record.findings.push_back("its outputs are the same as before: what adapters add is 0 until they are trained");
  write(record, graph, model, output);
  return record;
}

Record fuse_adapters(const LoadedModel& model, const FuseLoraOptions& options, const std::string& output,
                     const std::string& command) {
  const CompiledPacker packer({.threads = hardware_threads(), .cache_folder = default_cache_folder()});
  const Graph& before = model.graph;
  const std::vector<Adapter> adapters = adapters_of(before);
  const Graph after = run_pass(before, FuseLoraOptions::kPass, {.options = options, .packer = &packer});
  Table table = adapter_table();
  table.columns.push_back({"change", "change of the weight", "%", kFigure});
  table.columns.push_back({"kept", "change against rounding", "dB", kDecibels});
  Fusion packed;
  size_t packed_count = 0;
  for (const Adapter& adapter : adapters) {
    const ValueId own = after.find_constant(adapter.layer + ".fused.weight");
    const Tensor& fused = *after.constant(own != kNone ? own : after.find_constant(before.value(adapter.weight).label));
    const Fusion fusion = fusion_of(before, adapter, fused);
    table.rows.push_back(adapter_row(before, adapter));
    table.rows.back().push_back(number(100 * std::sqrt(fusion.change / fusion.weight)));
    table.rows.back().push_back(fused.is_packed() ? number(decibels(fusion.change, fusion.lost)) : Cell());
    if (fused.is_packed()) packed.change += fusion.change, packed.lost += fusion.lost, ++packed_count;
  }
  Record record = record_of(model, "adapters fused", command, std::move(table));
  record.findings.push_back(
      fmt::format("{} adapters are in the weights now; the model has no others", adapters.size()));
  if (packed_count > 0) {
    const double kept = decibels(packed.change, packed.lost);
    record.findings.push_back(fmt::format(
        "{} packed weights were rounded again: what the adapters change is {:.1f} dB {} what rounding loses{}",
        packed_count, std::abs(kept), kept >= 0 ? "above" : "below",
        kept < 0 ? "; hone evaluate tells what that costs" : ""));
  }
  write(record, after, model, output);
  return record;
}

Record export_adapters(const LoadedModel& model, const AdapterExport& options) {
  const Graph& graph = model.graph;
  const std::vector<Adapter> adapters = adapters_of(graph);
  if (adapters.empty()) fail("{}: has no adapters; hone lora insert or hone train --lora adds some", model.path);
  const auto stabilised = graph.metadata.find(kLoraStabilised);
  PeftAdapters peft{.dropout = lora_dropout(graph),
                    .rslora = stabilised != graph.metadata.end() && stabilised->second == "true"};
  const auto stored = [&](const std::string& label) {
    const auto found = model.stored_names.find(label);
    return found == model.stored_names.end() ? label : found->second;
  };
  for (const Adapter& adapter : adapters) {
    const auto plain = [&](ValueId id) { return plain_tensor(*graph.constant(id)); };
    const std::string label = stored(graph.value(adapter.weight).label);
    AdapterTensors tensors{.layer = options.prefix + layer_name(label),
                           .a = plain(adapter.a),
                           .b = plain(adapter.b),
                           .scaling = adapter.scaling,
                           .is_table = graph.node(adapter.sites[0].layer).op == &gather_def};
    if (adapter.magnitude != kNone) tensors.magnitude = plain(adapter.magnitude);
    peft.adapters.push_back(std::move(tensors));
  }
  if (const auto saved = graph.metadata.find(kLoraSaved); saved != graph.metadata.end())
    for (const std::string& label : split(saved->second, ','))
      if (const Tensor* tensor = graph.constant(graph.find_constant(label)))
        peft.saved.push_back({stored(label), plain_tensor(*tensor)});
  write_peft(options.folder, peft);
  const PeftAdapters read = read_peft(options.folder);
  CHECK(read.adapters.size() == peft.adapters.size() && read.saved.size() == peft.saved.size());
  Record record = adapted_record(model, graph, "adapters exported", options.command);
  const std::string file = (fs::path(options.folder) / "adapter_model.safetensors").string();
  record.findings.push_back(fmt::format(
      "{}: {}, read back; in Python: PeftModel.from_pretrained(model, FOLDER){}", options.folder,
      human_bytes(static_cast<double>(fs::file_size(file))),
      peft.saved.empty() ? "" : fmt::format("; with {} whole tensors of the last layer", peft.saved.size())));
  record.manifest.push_back({"output", file, sha256_of_file(file), static_cast<int64_t>(fs::file_size(file))});
  return record;
}

Record import_adapters(const LoadedModel& model, const AdapterImport& options) {
  PeftAdapters peft = read_peft(options.folder);
  Graph graph = canonicalise_for_training(model.graph);
  std::vector<std::string> layers;
  for (const AdaptableLayer& layer : adaptable_layers(graph)) layers.push_back(layer.name);
  for (AdapterTensors& adapter : peft.adapters) adapter.layer = layer_called(adapter.layer, layers, model);
  graph = attach_adapters(std::move(graph), peft.adapters);
  if (!options.adapters_only) set_saved(graph, peft.saved, model);
  if (peft.dropout > 0) graph.metadata[kLoraDropout] = fmt::format("{}", peft.dropout);
  if (peft.rslora) graph.metadata[kLoraStabilised] = "true";
  Record record = adapted_record(model, graph, "adapters imported", options.command);
  if (!peft.saved.empty())
    record.findings.push_back(fmt::format("{} whole tensors {}", peft.saved.size(),
                                          options.adapters_only ? "were left out" : "took the place of the model's"));
  write(record, graph, model, options.output);
  return record;
}

}  // namespace hone
