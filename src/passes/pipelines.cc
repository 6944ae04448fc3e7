#include "passes/pipelines.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/registry.h"
#include "base/stop.h"
#include "base/text.h"
#include "ir/bodies.h"
#include "passes/correct_bias.h"
#include "passes/registry.h"
#include "passes/round_weights.h"

namespace hone {
namespace {

// Spellings of one thing first become one op; what that leaves over is cleaned up after.
constexpr std::array kCanonical = {
    "remove_dropout",      "recognise_packed", "fold_constants",      "merge_common",    "simplify_shapes",
    "simplify_arithmetic", "recognise_linear", "fold_batch_norm",     "recognise_gelu",  "recognise_layer_norm",
    "recognise_attention", "propagate_full",   "simplify_arithmetic", "simplify_shapes", "fold_constants",
    "merge_common",        "remove_dead"};
constexpr std::array kForCodegen = {"fold_fake_quant",   "expand_fake_quant", "decode_vectors",        "unpack_values",
                                    "expand_batch_norm", "fold_constants",    "expand_conv_transpose", "channels_last",
                                    "fold_constants",    "simplify_shapes",   "sink_transposes",       "fold_constants",
                                    "simplify_shapes",   "set_compute",       "expand_mean_pool",      "merge_common",
                                    "remove_dead"};

// Run on the bodies of if, loop and scan too, each a graph of its own, innermost first.
constexpr std::array<std::string_view, 8> kInBodies = {"recognise_packed", "fold_constants", "merge_common",
                                                       "recognise_linear", "remove_dead",    "round_weights",
                                                       "fold_fake_quant",  "set_compute"};

bool is_disabled(const PipelineOptions& options, std::string_view pass) {
  return std::find(options.disabled.begin(), options.disabled.end(), pass) != options.disabled.end();
}

Graph run_passes(Graph graph, std::span<const char* const> names, const PassContext& context,
                 const PipelineOptions& options) {
  check_pass_names(options.disabled);
  for (std::string_view name : names) {
    if (is_disabled(options, name)) continue;
    graph = run_pass(std::move(graph), name, context, options);
  }
  graph.compact();
  return graph;
}

Graph run_within(Graph graph, const PassDef& pass, const PassContext& context) {
  if (std::ranges::find(kInBodies, pass.name) == kInBodies.end()) return pass.run(std::move(graph), context);
  edit_bodies(graph, [&](Graph body) { return run_within(std::move(body), pass, context); });
  return pass.run(std::move(graph), context);
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
  PassContext own = context;
  if (!own.packer) own.packer = options.packer;
  check_stop();
  graph = run_within(std::move(graph), *pass, own);
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  if (options.verify) verify(graph);
  if (options.after) options.after(*pass, graph, elapsed.count());
  return graph;
}

Graph canonicalise(Graph graph, const PipelineOptions& options) {
  return run_passes(std::move(graph), kCanonical, {}, options);
}

Graph quantize(Graph graph, const QuantizeOptions& quantize, const StatisticsSource& collect,
               const PipelineOptions& options) {
  check_pass_names(options.disabled);
  std::optional<Statistics> gathered;  // of the graph as the last pass that changed its weights left it
  bool has_moments = false;
  const auto statistics = [&](const char* option, bool moments) {
    if (!collect) fail("{} needs calibration data (--calib FILE)", option);
    if (!gathered || moments > has_moments) gathered = collect(graph, moments), has_moments = moments;
    return &*gathered;
  };
  const auto run = [&](const char* pass, std::any pass_options, const Statistics* of_inputs = nullptr) {
    if (is_disabled(options, pass)) return;
    graph = run_pass(std::move(graph), pass, {std::move(pass_options), of_inputs}, options);
  };
  const auto rewrite = [&](const char* pass, const Statistics* of_inputs = nullptr) {
    run(pass, quantize, of_inputs);
    gathered.reset();
  };

  rewrite("repair_nonfinite");
  if (quantize.equalise_layers) rewrite("equalise_layers");
  if (quantize.smooth_quant) rewrite("smooth_quant", statistics("smooth-quant", false));
  if (quantize.awq_scaling) rewrite("awq_scaling", statistics("awq-scaling", true));
  if (quantize.rotate_hadamard) rewrite("rotate_hadamard");

  // Weights are rounded for the inputs that they have before anything is rounded.
  const RoundingOptions rounding{.method = quantize.method};
  const Statistics* of_inputs = nullptr;
  if (rounding.method == "gptq" || (rounding.method != "nearest" && collect))
    of_inputs = statistics("method gptq", true);
  if (quantize.bias_correction) of_inputs = statistics("bias-correction", false);
  const Graph exact = graph;
  run("quantize", quantize);
  if (rounding.method != "nearest") run("round_weights", rounding, of_inputs);
  run("fold_fake_quant", {});
  if (quantize.bias_correction) run("correct_bias", BiasCorrection{exact}, of_inputs);
  graph.compact();
  return graph;
}

bool calibrates(const QuantizeOptions& options) {
  return options.method != "nearest" || options.bias_correction || options.smooth_quant || options.awq_scaling;
}

Graph prepare_for_codegen(Graph graph, Compute compute, const PipelineOptions& options) {
  graph = canonicalise(std::move(graph), options);
  return run_passes(std::move(graph), kForCodegen, {compute}, options);
}

}  // namespace hone
