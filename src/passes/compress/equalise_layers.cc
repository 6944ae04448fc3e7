// Cross-layer equalisation: of two products with nothing but positively homogeneous ops between them, channel c of the
// first is divided by s_c and channel c of the second multiplied, so that both weights get the same range there:
//   s_c = sqrt(range of row c / range of column c)
// A batch_norm between them takes up any factor, so there each side is made even by itself.
// Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias Correction" (2019).
#include <algorithm>
#include <cmath>

#include "ops/calls/batch_norm.h"
#include "ops/calls/conv.h"
#include "ops/calls/linear.h"
#include "passes/compress/quantize.h"
#include "passes/compress/shared_input.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

using Ranges = std::vector<double>;

Ranges row_ranges(const Tensor& weight) {
  Ranges ranges(static_cast<size_t>(weight.dim(0)), 0.0);
  const std::vector<double> values = weight.to_doubles();
  const size_t row = values.size() / ranges.size();
  for (size_t i = 0; i < values.size(); ++i) ranges[i / row] = std::max(ranges[i / row], std::abs(values[i]));
  return ranges;
}

// Channels of zeros are left alone, here and below.
Ranges factors_to_meet(const Ranges& rows, const Ranges& columns) {
  Ranges factors(rows.size(), 1.0);
  for (size_t c = 0; c < factors.size(); ++c)
    if (rows[c] > 0 && columns[c] > 0) factors[c] = std::sqrt(rows[c] / columns[c]);
  return factors;
}

// Every channel gets the geometric mean of the ranges.
Ranges factors_to_mean(Ranges ranges) {
  double sum = 0, count = 0;
  for (double r : ranges)
    if (r > 0) sum += std::log(r), ++count;
  for (double& r : ranges) r = r > 0 ? std::exp(sum / count) / r : 1;
  return ranges;
}

// A conv whose result the batch_norm alone reads gets even rows.
void even_out_before(Graph& graph, NodeId norm) {
  const NodeId conv = produced_by(graph, graph.operand(norm, 0), conv_def);
  if (conv == kNone || graph.use_count(graph.result(conv)) != 1 || !can_scale_result(graph, conv)) return;
  const Ranges factors = factors_to_mean(row_ranges(*graph.constant(graph.operand(conv, 1))));
  scale_result(graph, conv, factors);
  constexpr int kScale = 1, kMean = 3;  // operands of batch_norm
  scale_constant(graph, norm, kMean, factors);
  scale_constant(graph, norm, kScale, inverse(factors));
}

Graph equalise_layers(Graph graph, const PassContext&, const FormatRules& rules) {
  const QuantizationPlan plan = plan_quantization(graph, rules);
  for (const SharedInput& input : shared_inputs(graph)) {
    const NodeId node = scaling_node(graph, input);
    if (node == kNone) continue;
    const OpDef* const op = graph.node(node).op;
    const bool is_planned = std::any_of(input.layers.begin(), input.layers.end(),
                                        [&](const Layer& layer) { return plan.format_of(layer.weight) != nullptr; });
    if (op == &batch_norm_def && is_planned) {
      even_out_before(graph, node);
      scale_input(graph, input, factors_to_mean(largest_weights(graph, input)));
    } else if ((op == &linear_def || op == &conv_def) && (is_planned || plan.format_of(graph.operand(node, 1)))) {
      const Ranges rows = row_ranges(*graph.constant(graph.operand(node, 1)));
      scale_input(graph, input, factors_to_meet(rows, largest_weights(graph, input)));
    }
  }
  graph.erase_unused_constants();
  return graph;
}

}  // namespace

extern constinit const PassDef equalise_layers_def{
    .name = "equalise_layers",
    .doc =
        "Weights of two products with relu, pools, batch_norm or nothing between them get the same range in every "
        "channel that they share, where one of them is to be quantized.",
    .run = with_options<equalise_layers>};

}  // namespace hone
