#include "passes/pipelines.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/registry.h"
#include "base/stop.h"
#include "base/text.h"
#include "ir/bodies.h"
#include "passes/compress/quantize_rule.h"
#include "passes/lower/set_compute.h"
#include "passes/registry.h"

namespace hone {
namespace {

// Spellings of one thing first become one op; what that leaves over is cleaned up after.
constexpr std::array kCanonical = {
    "remove_dropout",      "recognise_packed", "fold_constants",       "choose_branches",     "resolve_sequences",
    "merge_common",        "simplify_shapes",  "simplify_arithmetic",  "expand_einsum",       "recognise_linear",
    "fold_batch_norm",     "recognise_gelu",   "recognise_layer_norm", "recognise_attention", "propagate_full",
    "simplify_arithmetic", "simplify_shapes",  "fold_constants",       "merge_common",        "remove_dead"};
constexpr std::array kWithChannelsLast = {"sink_dequantize",
                                          "tabulate_codes",
                                          "fold_fake_quant",
                                          "integer_products",
                                          "expand_fake_quant",
                                          "widen_halves",
                                          "expand_recurrent",
                                          "expand_fourier",
                                          "decode_vectors",
                                          "unpack_values",
                                          "expand_attention_gradient",
                                          "expand_batch_norm",
                                          "fold_constants",
                                          "expand_conv_transpose",
                                          "turn_conv_transpose",
                                          "expand_avg_pool_gradient",
                                          "expand_volumes",
                                          "expand_conv_gradients",
                                          "separate_max_pool",
                                          "expand_grid_sample",
                                          "channels_last",
                                          "expand_batch_norm_train",
                                          "fold_constants",
                                          "simplify_shapes",
                                          "sink_transposes",
                                          "integer_products",
                                          "fold_constants",
                                          "simplify_shapes",
                                          "set_compute",
                                          "expand_mean_pool",
                                          "nest_concats",
                                          "merge_common",
                                          "remove_dead"};

// Run on the bodies of if, loop and scan too, each a graph of its own, innermost first. What is made ready for code
// generation is, with all passes.
constexpr std::array<std::string_view, 9> kInBodies = {"choose_branches", "recognise_packed", "fold_constants",
                                                       "merge_common",    "recognise_linear", "remove_dead",
                                                       "round_weights",   "fold_fake_quant",  "set_compute"};

constexpr OptionField<QuantizeOptions> kSteps[] = {
    {"bias-correction", "biases take up the mean error of rounded weights (needs calibration data)",
     &QuantizeOptions::bias_correction},
    {"equalise-layers", "first give the weights of consecutive layers the same ranges",
     &QuantizeOptions::equalise_layers},
    {"smooth-quant", "move outliers of activations that are rounded into the weights first (needs calibration data)",
     &QuantizeOptions::smooth_quant},
    {"awq-scaling", "enlarge weights of large activations before rounding (needs calibration data)",
     &QuantizeOptions::awq_scaling},
    {"rotate-hadamard", "compute on blocks of 32 to 128 channels that are rotated by a Hadamard matrix",
     &QuantizeOptions::rotate_hadamard},
};

bool is_disabled(const PipelineOptions& options, std::string_view pass) {
  return std::find(options.disabled.begin(), options.disabled.end(), pass) != options.disabled.end();
}

std::vector<const PassDef*> find_passes(const std::vector<std::string>& names) {
  check_pass_names(names);
  std::vector<const PassDef*> found;
  for (const std::string& name : names) found.push_back(find_def(passes::all(), name));
  return found;
}

bool takes(const PassDef& pass, const OptionTable& table) {
  return std::ranges::find(pass.run.options(), &table) != pass.run.options().end();
}

void check_options(std::span<const PassDef* const> passes, const PassOptions& options) {
  for (const OptionTable* table : options.given())
    if (std::ranges::none_of(passes, [&](const PassDef* pass) { return takes(*pass, *table); }))
      fail("options of pass {} are given, and nothing that runs takes them", table->pass);
  for (const PassDef* pass : passes)
    for (const OptionTable* table : pass->run.options())
      if (const std::vector<std::string> missing = options.missing(*table); !missing.empty())
        fail("pass {} needs the option {}.{}", pass->name, table->pass, missing[0]);
}

Graph run_within(Graph graph, const PassDef& pass, const PassContext& context) {
  if (std::ranges::find(kInBodies, pass.name) == kInBodies.end()) return pass.run(std::move(graph), context);
  edit_bodies(graph, [&](Graph body) { return run_within(std::move(body), pass, context); });
  return pass.run(std::move(graph), context);
}

Graph run_one(Graph graph, const PassDef& pass, const PassContext& context, const PipelineOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  PassContext own = context;
  if (!own.packer) own.packer = options.packer;
  check_stop();
  graph = run_within(std::move(graph), pass, own);
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  if (options.verify) verify(graph);
  if (options.after) options.after(pass, graph, elapsed.count());
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

Graph run_pass(Graph graph, const std::string& name, const PassContext& context, const PipelineOptions& options) {
  const std::vector<const PassDef*> pass = find_passes({name});
  check_options(pass, context.options);
  return run_one(std::move(graph), *pass[0], context, options);
}

Graph run_passes(Graph graph, const std::vector<std::string>& names, const PassContext& context,
                 const PipelineOptions& options) {
  const std::vector<const PassDef*> passes = find_passes(names);
  check_options(passes, context.options);
  check_pass_names(options.disabled);
  for (const PassDef* pass : passes)
    if (!is_disabled(options, pass->name)) graph = run_one(std::move(graph), *pass, context, options);
  graph.compact();
  return graph;
}

Graph canonicalise(Graph graph, const PipelineOptions& options) {
  return run_passes(std::move(graph), {kCanonical.begin(), kCanonical.end()}, {}, options);
}

Graph canonicalise_parameters(Graph graph, const PipelineOptions& options) {
  std::vector<std::string> passes(kCanonical.begin(), kCanonical.end());
  std::erase(passes, "fold_batch_norm");
  passes.insert(std::ranges::find(passes, "recognise_linear"), "linear_of_parameters");
  return run_passes(std::move(graph), passes, {}, options);
}

std::span<const OptionField<QuantizeOptions>> quantize_fields() {
  static const std::vector<OptionField<QuantizeOptions>> fields = [] {
    std::vector<OptionField<QuantizeOptions>> all;
    append_fields(all, FormatRules::fields());
    append_fields(all, RoundingOptions::fields());
    all.insert(all.end(), std::begin(kSteps), std::end(kSteps));
    append_fields(all, SmoothQuantOptions::fields());
    append_fields(all, NonfiniteOptions::fields());
    return all;
  }();
  return fields;
}

PassOptions options_of_passes(const QuantizeOptions& options) {
  return {FormatRules(options), RoundingOptions(options), SmoothQuantOptions(options), NonfiniteOptions(options)};
}

Graph quantize(Graph graph, const QuantizeOptions& quantize, const StatisticsSource& collect,
               const PipelineOptions& options) {
  check_pass_names(options.disabled);
  check_rounding(quantize);
  std::optional<Statistics> gathered;  // of the graph as the last pass that changed its weights left it
  bool has_moments = false;
  const auto statistics = [&](const char* option, bool moments) {
    if (!collect) fail("{} needs calibration data (--calib FILE)", option);
    if (!gathered || moments > has_moments) gathered = collect(graph, moments), has_moments = moments;
    return &*gathered;
  };
  PassContext context{.options = options_of_passes(quantize)};
  const auto run = [&](const char* pass, const Statistics* of_inputs = nullptr) {
    const PassDef& def = *find_passes({pass})[0];
    for (const OptionTable* table : def.run.options())
      CHECK(std::ranges::count(context.options.given(), table), "QuantizeOptions lacks the options that {} takes",
            pass);
    context.statistics = of_inputs;
    if (!is_disabled(options, pass)) graph = run_one(std::move(graph), def, context, options);
  };
  const auto rewrite = [&](const char* pass, const Statistics* of_inputs = nullptr) {
    run(pass, of_inputs);
    gathered.reset();
  };

  rewrite("repair_nonfinite");
  if (quantize.equalise_layers) rewrite("equalise_layers");
  if (quantize.smooth_quant) rewrite("smooth_quant", statistics("smooth-quant", false));
  if (quantize.awq_scaling) rewrite("awq_scaling", statistics("awq-scaling", true));
  if (quantize.rotate_hadamard) rewrite("rotate_hadamard");

  // Weights are rounded for the inputs that they have before anything is rounded.
  const Statistics* of_inputs = nullptr;
  if (quantize.method == "gptq" || (quantize.method != "nearest" && collect))
    of_inputs = statistics("method gptq", true);
  if (quantize.bias_correction) of_inputs = statistics("bias-correction", false);
  const Graph exact = graph;
  context.exact = &exact;
  std::vector<ObservedInput> observed = observed_inputs(graph, plan_quantization(graph, quantize));
  if (!observed.empty()) {
    if (!options.ranges)
      fail("a static scale ({}@{}) needs calibration data (--calib FILE)", to_string(observed[0].format),
           observed[0].observer);
    const std::vector<ValueRange> ranges = options.ranges(graph, observed);
    for (size_t i = 0; i < observed.size(); ++i) observed[i].range = ranges[i];
  }
  context.observed = observed;
  run("quantize");
  if (quantize.method != "nearest") run("round_weights", of_inputs);
  run("fold_fake_quant");
  if (quantize.bias_correction) run("correct_bias", of_inputs);
  graph.compact();
  return graph;
}

bool calibrates(const QuantizeOptions& options) {
  const auto is_observed = [](const std::string& text) { return InputFormat::parse(text).observer != ""; };
  const bool observes = (!options.activations.empty() && is_observed(options.activations)) ||
                        std::ranges::any_of(options.rule, [](const std::string& rule) {
                          return !QuantizeRule::parse(rule).observer().empty();
                        });
  return observes || options.method != "nearest" || options.bias_correction || options.smooth_quant ||
         options.awq_scaling;
}

constinit const Pipeline kChannelsLast{kWithChannelsLast};

Graph prepare_for_codegen(Graph graph, Compute compute, const PipelineOptions& options, const Pipeline& pipeline) {
  graph = run_passes(canonicalise(std::move(graph), options), {"inline_captures"}, {}, options);
  edit_bodies(graph, [&](Graph body) { return prepare_for_codegen(std::move(body), compute, options, pipeline); });
  return run_passes(std::move(graph), {pipeline.passes.begin(), pipeline.passes.end()},
                    {SetComputeOptions{std::string(to_string(compute))}}, options);
}

}  // namespace hone
