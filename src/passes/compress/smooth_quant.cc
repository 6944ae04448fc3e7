// SmoothQuant: activations that are rounded are divided by s in each channel and the weights multiplied,
//   s_c = max |x_c|^alpha / max |w_c|^(1 - alpha)
// so that outlier channels of x no longer take all steps of its format. Layers that share an input share s.
// Xiao et al., "SmoothQuant: Accurate and Efficient Post-Training Quantization for Large Language Models" (2022).
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "passes/compress/quantize.h"
#include "passes/compress/shared_input.h"
#include "passes/compress/smooth_quant.h"
#include "passes/pass.h"

namespace hone {
namespace {

constexpr OptionField<SmoothQuantOptions> kFields[] = {
    {"alpha", "how far smooth-quant moves outliers, from 0 to 1", &SmoothQuantOptions::alpha},
};

std::vector<double> migration(const Graph& graph, const SharedInput& input, const LayerStatistics& statistics,
                              double alpha) {
  std::vector<double> factors = largest_inputs(statistics, input_channels(graph, input.layers[0]));
  const std::vector<double> weights = largest_weights(graph, input);
  for (size_t c = 0; c < factors.size(); ++c) {
    const bool is_used = factors[c] > 0 && weights[c] > 0;
    factors[c] = is_used ? std::pow(factors[c], alpha) / std::pow(weights[c], 1 - alpha) : 1;
  }
  return factors;
}

Graph smooth_quant(Graph graph, const PassContext& context, const FormatRules& rules,
                   const SmoothQuantOptions& options) {
  if (!(options.alpha >= 0 && options.alpha <= 1)) fail("alpha is {}; accepted: 0 to 1", options.alpha);
  const QuantizationPlan plan = plan_quantization(graph, rules);
  for (const SharedInput& input : shared_inputs(graph)) {
    const LayerStatistics* statistics = statistics_of(context, graph, input);
    const bool is_rounded = std::any_of(input.layers.begin(), input.layers.end(),
                                        [&](const Layer& layer) { return plan.rounds_input(layer.node); });
    if (statistics && is_rounded) scale_input(graph, input, migration(graph, input, *statistics, options.alpha));
  }
  graph.erase_unused_constants();
  return graph;
}

}  // namespace

std::span<const OptionField<SmoothQuantOptions>> SmoothQuantOptions::fields() { return kFields; }

extern constinit const PassDef smooth_quant_def{
    .name = "smooth_quant",
    .doc =
        "Outlier channels of activations that are to be rounded move into the weights; the division goes into what "
        "computes the activation, else it is a multiplication.",
    .run = with_options<smooth_quant>};

}  // namespace hone
