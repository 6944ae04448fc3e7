#include "passes/pipelines.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/registry.h"
#include "base/text.h"
#include "passes/registry.h"

namespace hone {
namespace {

// Spellings of one thing first become one op; what that leaves over is cleaned up after.
constexpr std::array kCanonical = {
    "remove_dropout",      "recognise_packed", "fold_constants",      "merge_common",    "simplify_shapes",
    "simplify_arithmetic", "recognise_linear", "fold_batch_norm",     "recognise_gelu",  "recognise_layer_norm",
    "recognise_attention", "propagate_full",   "simplify_arithmetic", "simplify_shapes", "fold_constants",
    "merge_common",        "remove_dead"};
constexpr std::array kForCodegen = {"fold_fake_quant",       "decode_vectors", "expand_batch_norm", "fold_constants",
                                    "expand_conv_transpose", "channels_last",  "fold_constants",    "simplify_shapes",
                                    "sink_transposes",       "fold_constants", "simplify_shapes",   "set_compute",
                                    "expand_mean_pool",      "merge_common",   "remove_dead"};

// What changes the model comes before what rounds it, each pass on statistics of the model as it finds it.
struct QuantiseStep {
  const char* pass;
  bool (*is_wanted)(const QuantizeOptions&) = [](const QuantizeOptions&) { return true; };
  bool needs_statistics = false;
};
constexpr QuantiseStep kQuantise[] = {{"repair_nonfinite"},
                                      {"equalise_layers", [](const QuantizeOptions& o) { return o.equalise_layers; }},
                                      {"smooth_quant", [](const QuantizeOptions& o) { return o.smooth_quant; }, true},
                                      {"awq_scaling", [](const QuantizeOptions& o) { return o.awq_scaling; }, true},
                                      {"rotate_hadamard", [](const QuantizeOptions& o) { return o.rotate_hadamard; }},
                                      {"quantize"},
                                      {"fold_fake_quant"}};

Graph run_passes(Graph graph, std::span<const char* const> names, const PassContext& context,
                 const PipelineOptions& options) {
  check_pass_names(options.disabled);
  for (std::string_view name : names) {
    if (std::find(options.disabled.begin(), options.disabled.end(), name) != options.disabled.end()) continue;
    graph = run_pass(std::move(graph), name, context, options);
  }
  graph.compact();
  return graph;
}

}  // namespace

std::string_view to_string(Compute compute) { return compute == Compute::f32 ? "f32" : "bf16"; }

Compute parse_compute(std::string_view text) {
  if (text == "f32") return Compute::f32;
  if (text == "bf16") return Compute::bf16;
  fail("unknown compute type {}; known: f32, bf16", text);
}

Compute stored_compute(const Graph& graph) {
  const auto stored = graph.metadata.find("compute");
  return stored == graph.metadata.end() ? Compute::f32 : parse_compute(stored->second);
}

void check_pass_names(const std::vector<std::string>& wanted) {
  const std::vector<std::string> names = names_of<PassDef>(passes::all());
  for (const std::string& name : wanted)
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      std::string known;
      for (const std::string& each : names) known += (known.empty() ? "" : ", ") + each;
      fail("unknown pass {}; known: {}{}", name, known, did_you_mean(name, names));
    }
}

Graph run_pass(Graph graph, std::string_view name, const PassContext& context, const PipelineOptions& options) {
  const PassDef* pass = find_def(passes::all(), name);
  if (!pass) check_pass_names({std::string(name)});
  const auto start = std::chrono::steady_clock::now();
  graph = pass->run(std::move(graph), context);
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  if (options.verify) verify(graph);
  if (options.after) options.after(*pass, graph, elapsed.count());
  return graph;
}

Graph canonicalise(Graph graph, const PipelineOptions& options) {
  return run_passes(std::move(graph), kCanonical, {}, options);
}

Graph quantise(Graph graph, const QuantizeOptions& quantize, const StatisticsSource& collect,
               const PipelineOptions& options) {
  check_pass_names(options.disabled);
  std::optional<Statistics> statistics;  // of the graph as it is
  for (const QuantiseStep& step : kQuantise) {
    const bool is_disabled = std::find(options.disabled.begin(), options.disabled.end(), std::string_view(step.pass)) !=
                             options.disabled.end();
    if (is_disabled || !step.is_wanted(quantize)) continue;
    if (step.needs_statistics && !collect) fail("{} needs calibration data (--calib FILE)", step.pass);
    if (step.needs_statistics && !statistics) statistics = collect(graph);
    graph = run_pass(std::move(graph), step.pass, {quantize, statistics ? &*statistics : nullptr}, options);
    statistics.reset();
  }
  graph.compact();
  return graph;
}

Graph prepare_for_codegen(Graph graph, Compute compute, const PipelineOptions& options) {
  graph = canonicalise(std::move(graph), options);
  return run_passes(std::move(graph), kForCodegen, {compute}, options);
}

}  // namespace hone
