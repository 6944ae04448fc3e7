#include "io/mase/config.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "io/mase/formats.h"
#include "io/toml.h"

namespace hone {
namespace {

using Fate = MasePass::Fate;
using Names = std::vector<std::string>;

constexpr const char* kHardware = "hone generates machine code for CPUs and GPUs, no descriptions of hardware";
constexpr const char* kOptical = "hone has no optical devices; weights and activations are numbers of a format";
constexpr const char* kFlips = "hone simulates no faults: bits of a file change nothing unless someone changes them";
constexpr const char* kSharding = "hone runs a model on one device, and trains on several by hone train under mpirun";
constexpr const char* kReports = "hone info, hone print and hone draw show graphs";
constexpr const char* kTypes = "shapes and types are known without a run";

// In the order of docs/from-mase.md.
constexpr MasePass kPasses[] = {
    {Fate::followed, "quantize", "hone quantize"},
    {Fate::followed, "prune", "hone prune"},
    {Fate::skipped, "init_metadata", kTypes},
    {Fate::skipped, "add_common_metadata", kTypes},
    {Fate::skipped, "add_software_metadata", kTypes},
    {Fate::skipped, "verify_common_metadata", "every graph is verified"},
    {Fate::skipped, "report_graph", kReports},
    {Fate::skipped, "report_node_type", kReports},
    {Fate::skipped, "report_node_shape", kReports},
    {Fate::skipped, "report_node_meta_param", kReports},
    {Fate::skipped, "summarize_quantization", "hone quantize lists what each tensor became"},
    {Fate::skipped, "calculate_avg_bits_mg", "hone quantize and hone search count bits"},
    {Fate::skipped, "add_natural_sparsity", "hone info counts zeros"},
    {Fate::skipped, "conv_bn_fusion", "batch norms are always folded into convolutions"},
    {Fate::skipped, "save_mase_graph", "the file of -o has graph and weights"},
    {Fate::refused, "load_mase_graph", "a pickle; export the model to ONNX or as a Hugging Face folder"},
    {Fate::refused, "profile_statistics", "ranges come from data: --calib, and --rule LAYER.in=int8@min-max"},
    {Fate::refused, "insert_lora_adapter", "hone lora insert, or hone train --lora"},
    {Fate::refused, "fuse_lora_weights", "hone lora fuse"},
    {Fate::refused, "prune_detach_hook", "masks are folded into weights; there are no hooks"},
    {Fate::refused, "training_base", "hone train --qat"},
    {Fate::refused, "gptq", "hone quantize --method gptq --calib FILE"},
    {Fate::refused, "rotation", "hone quantize --rotate-hadamard"},
    {Fate::refused, "attention_swap", "hone builds other attention as another model: hone build, hone search"},
    {Fate::refused, "logicnets_fusion", "layers of truth tables are for FPGAs"},
    {Fate::refused, "autosharding", kSharding},
    {Fate::refused, "resharding", kSharding},
    {Fate::refused, "report_parallelization", kSharding},
    {Fate::refused, "tensorrt_engine_interface", "hone compiles models itself: hone compile, hone bench --device cuda"},
    {Fate::refused, "tensorrt_fake_quantize", "hone quantize --to int8 --activations int8@entropy --calib FILE"},
    {Fate::refused, "onnx_runtime_interface", "hone export writes ONNX"},
    {Fate::refused, "runtime_analysis", "hone bench and hone evaluate measure what was written"},
    {Fate::refused, "add_hardware_metadata", kHardware},
    {Fate::refused, "emit_verilog", kHardware},
    {Fate::refused, "emit_hls", kHardware},
    {Fate::refused, "emit_mlir", kHardware},
    {Fate::refused, "optical", kOptical},
    {Fate::refused, "bitflip", kFlips},
    {Fate::refused, "ann2snn", "hone has no spiking networks"},
};

// Of training, data and folders, which the model on the command line is beyond.
constexpr const char* kSettings[] = {"model",
                                     "dataset",
                                     "task",
                                     "load_name",
                                     "load_type",
                                     "batch_size",
                                     "is_debug",
                                     "debug",
                                     "seed",
                                     "log_level",
                                     "report_to",
                                     "training_optimizer",
                                     "trainer_precision",
                                     "learning_rate",
                                     "weight_decay",
                                     "max_epochs",
                                     "max_steps",
                                     "accumulate_grad_batches",
                                     "log_every_n_steps",
                                     "t_max",
                                     "eta_min",
                                     "num_workers",
                                     "num_devices",
                                     "num_nodes",
                                     "cpu",
                                     "gpu",
                                     "nodes",
                                     "accelerator",
                                     "strategy",
                                     "is_to_auto_requeue",
                                     "pretrained",
                                     "is_pretrained",
                                     "max_token_len",
                                     "project_dir",
                                     "project",
                                     "profile",
                                     "no_warnings"};

Names names_of(std::span<const MasePass> passes) {
  Names names;
  for (const MasePass& pass : passes) names.emplace_back(pass.name);
  return names;
}

// A table of the file with the place that errors name.
struct Table {
  const Json& tree;
  std::string where;

  static Table of(const Json& tree, std::string where) {
    if (!tree.is_object()) fail("{} is {}; expected a table", where, json_excerpt(tree));
    return {tree, std::move(where)};
  }
  Table table(const std::string& key) const {
    if (!tree.contains(key)) fail("{} has no {}, which MASE requires", where, key);
    return of(tree.at(key), where + "." + key);
  }
  void take_only(const Names& known) const {
    for (const auto& [key, value] : tree.items())
      if (!std::ranges::count(known, key))
        fail("{}: unknown key {}; known: {}{}", where, key, fmt::join(known, ", "), did_you_mean(key, known));
  }
  std::string text(const char* key, const Names& accepted) const {
    if (!tree.contains(key)) fail("{} has no {}, which MASE requires", where, key);
    const Json& value = tree.at(key);
    if (!value.is_string() || !std::ranges::count(accepted, value.get<std::string>()))
      fail("{}.{} is {}; accepted: {}{}", where, key, json_excerpt(value), fmt::join(accepted, ", "),
           value.is_string() ? did_you_mean(value.get<std::string>(), accepted) : "");
    return value;
  }
};

// The sentence of a pass that hone does not follow, also by the longer name of its function.
const MasePass& find_pass(const std::string& given, const std::string& where) {
  std::string name = given;
  for (const char* ending : {"", "_pass", "_analysis", "_transform"}) {
    if (name.ends_with(ending)) name.erase(name.size() - std::string_view(ending).size());
    for (const MasePass& pass : kPasses)
      if (name == pass.name) return pass;
  }
  const Names names = names_of(kPasses);
  fail("{}: no pass {} of MASE is known; hone follows quantize and prune, and knows of {}{}", where, given,
       fmt::join(std::span(names).subspan(2), ", "), did_you_mean(name, names));
}

MaseLayerConfig layer_config(const std::string& key, const Table& given) {
  given.take_only({"config"});
  const Table config = given.table("config");
  MaseLayerConfig layer{.key = key, .where = config.where};
  if (!config.tree.contains("name")) fail("{} has no name, which MASE requires", config.where);
  const Json& name = config.tree.at("name");
  if (!name.is_string()) fail("{}.name is {}; expected a quantizer, or \"NA\"", config.where, json_excerpt(name));
  if (!is_none(name)) layer.quantizer = name;
  bool is_bypassed = false;
  for (const auto& [setting, value] : config.tree.items()) {
    if (setting == "name") continue;
    if (setting != "bypass") layer.keys[setting] = value;
    else if (!value.is_boolean()) fail("{}.bypass is {}; expected true or false", config.where, json_excerpt(value));
    else is_bypassed = value.get<bool>();
  }
  if (is_bypassed) layer.quantizer.clear();
  return layer;
}

MaseQuantize quantize_pass(const Table& given) {
  MaseQuantize pass;
  const std::string by = given.text("by", {"type", "name", "regex_name"});
  pass.by = by == "type"   ? MaseQuantize::By::type
            : by == "name" ? MaseQuantize::By::name
                           : MaseQuantize::By::regex_name;
  for (const auto& [key, value] : given.tree.items()) {
    const std::string where = given.where + "." + key;
    if (key == "by" || key == "report") continue;  // report: prints
    if (key == "gptq") fail("{}: {}", where, find_pass("gptq", where).says);
    MaseLayerConfig layer = layer_config(key, Table::of(value, where));
    if (key == "default") pass.otherwise = std::move(layer);
    else pass.layers.push_back(std::move(layer));
  }
  return pass;
}

double sparsity_of(const Table& given) {
  if (!given.tree.contains("sparsity")) fail("{} has no sparsity, which MASE requires", given.where);
  const Json& value = given.tree.at("sparsity");
  if (!value.is_number() || value.get<double>() < 0 || value.get<double>() > 1)
    fail("{}.sparsity is {}; expected a number from 0 to 1", given.where, json_excerpt(value));
  return value;
}

MasePrune prune_pass(const Table& given) {
  given.take_only({"weight", "activation"});
  const Names keys{"scope", "granularity", "method", "sparsity"};
  const Table weight = given.table("weight");
  weight.take_only(keys);
  const std::string method = weight.text("method", {"random", "l1-norm"});
  weight.text("granularity", {"elementwise"});
  if (given.tree.contains("activation")) {
    const Table activation = given.table("activation");
    activation.take_only(keys);
    if (sparsity_of(activation) > 0)
      fail(
          "{}.sparsity is {}: hone prunes weights, no activations, which are computed anew in each run; take the table "
          "{} out, or write sparsity = 0",
          activation.where, sparsity_of(activation), activation.where);
  }
  return {.sparsity = sparsity_of(weight),
          .method = method == "l1-norm" ? "l1" : method,
          .scope = weight.text("scope", {"local", "global"})};
}

void read_passes(const Table& passes, MaseConfig& config) {
  for (const auto& [key, value] : passes.tree.items()) {
    const std::string where = passes.where + "." + key;
    const MasePass& pass = find_pass(key, passes.where);
    if (pass.fate == Fate::refused) fail("{}: hone does not run this pass: {}. Take the table out", where, pass.says);
    if (pass.fate == Fate::skipped) {
      config.skipped.push_back(fmt::format("{} is skipped: {}", where, pass.says));
      continue;
    }
    const Table given = Table::of(value, where);
    if (std::ranges::count(config.order, pass.name)) fail("{}: the pass {} stands here twice", where, pass.name);
    config.order.emplace_back(pass.name);
    if (config.order.back() == "quantize") config.quantize = quantize_pass(given);
    else config.prune = prune_pass(given);
  }
}

}  // namespace

std::span<const MasePass> mase_passes() { return kPasses; }
std::span<const char* const> mase_settings() { return kSettings; }

MaseConfig parse_mase_config(const Json& tree, const std::string& source) {
  MaseConfig config{.path = source};
  Names ignored;
  for (const auto& [key, value] : tree.items()) {
    const std::string where = fmt::format("{}: {}", source, key);
    if (key == "passes") read_passes(Table::of(value, where), config);
    else if (key == "transform") Table::of(value, where).take_only({"style"});
    else if (key == "search") config.skipped.push_back("search is skipped: hone search --config has keys of its own");
    else if (std::ranges::count(kSettings, key)) ignored.push_back(key);
    else {
      Names known{"passes", "transform", "search"};
      known.insert(known.end(), std::begin(kSettings), std::end(kSettings));
      fail("{}: unknown key of MASE's configuration; known: {}{}", where, fmt::join(known, ", "),
           did_you_mean(key, known));
    }
  }
  if (!ignored.empty())
    config.skipped.push_back(
        fmt::format("{}: about no pass; model and files are those of the command line", fmt::join(ignored, ", ")));
  return config;
}

MaseConfig read_mase_config(const std::string& path) { return parse_mase_config(read_toml_file(path), path); }

}  // namespace hone
