// What runs when: pipelines.cc is the only place that knows an order of passes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "passes/compress/nonfinite.h"
#include "passes/compress/quantize.h"
#include "passes/compress/round_weights.h"
#include "passes/compress/smooth_quant.h"
#include "passes/pass.h"
#include "passes/pipeline.h"

namespace hone {

enum class Compute : uint8_t {
  f32,
  bf16
};  // type that linear, matmul, attention and conv read activations in; sums are always f32
std::string_view to_string(Compute compute);
Compute parse_compute(std::string_view text);
Compute stored_compute(const Graph& graph);  // of the model's metadata; f32 when it names none

// The ranges of activations of a graph on calibration data, in their order.
using RangeSource = std::function<std::vector<ValueRange>(const Graph&, std::span<const ObservedInput>)>;

struct PipelineOptions {
  std::vector<std::string> disabled;  // names of passes to leave out; an unknown name is an Error with the nearest ones
  bool verify = false;                // after every pass
  std::function<void(const PassDef&, const Graph&, double milliseconds)> after;  // for --print-after and timing
  const Packer* packer = nullptr;                                                // see PassContext
  RangeSource ranges = {};  // of quantize(), for static scales; empty: there are no data
};

// Passes by their names, one after the other, with what `options` asks for around them. Throws Error before the first
// runs: for a name that is none, with the nearest; for options in the context that none of them takes; and for one that
// a pass requires and nobody has set.
Graph run_passes(Graph graph, const std::vector<std::string>& names, const PassContext& context = {},
                 const PipelineOptions& options = {});
Graph run_pass(Graph graph, const std::string& name, const PassContext& context = {},
               const PipelineOptions& options = {});

void check_pass_names(const std::vector<std::string>& names);  // Error with the nearest for one that is no pass

Graph canonicalise(Graph graph, const PipelineOptions& options = {});  // -O1: DESIGN section 3, canonical form
// The same of a graph whose weights are parameters: products with them become linear, too, and batch norms stay.
Graph canonicalise_parameters(Graph graph, const PipelineOptions& options = {});
// Canonical form, then a device's pipeline.
Graph prepare_for_codegen(Graph graph, Compute compute, const PipelineOptions& options = {},
                          const Pipeline& pipeline = kChannelsLast);

// The options of the passes that quantize() is made of, as one, and which of them run.
struct QuantizeOptions : FormatRules, RoundingOptions, SmoothQuantOptions, NonfiniteOptions {
  // What is done to the model before its weights are rounded: the passes of these names.
  bool equalise_layers = false, smooth_quant = false, awq_scaling = false, rotate_hadamard = false;
  bool bias_correction = false;  // after: the pass correct_bias
};
std::span<const OptionField<QuantizeOptions>> quantize_fields();
PassOptions options_of_passes(const QuantizeOptions& options);

// A graph in canonical form with the constants and activations that the options choose in other formats; constants are
// packed. `collect` gathers statistics of a graph on calibration data, with second moments when asked: it is called for
// passes that need them, again after each pass that changes what they describe. Empty: there are no data, and an option
// that needs them is an Error.
using StatisticsSource = std::function<Statistics(const Graph&, bool moments)>;
Graph quantize(Graph graph, const QuantizeOptions& quantize, const StatisticsSource& collect = {},
               const PipelineOptions& options = {});

// Whether what quantize() makes depends on calibration data, given some.
bool calibrates(const QuantizeOptions& options);

}  // namespace hone
