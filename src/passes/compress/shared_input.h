// Layers that read one activation, and multiplying their input channels: what smooth_quant, awq_scaling,
// equalise_layers and rotate_hadamard have in common. With positive factors s, one for each channel,
//   weight * x = (weight * s) * (x / s)
// and the division costs nothing where the constants of what computes x can take it up.
#pragma once

#include <optional>
#include <vector>

#include "ir/statistics.h"
#include "passes/layer.h"
#include "passes/pass.h"

namespace hone {

struct SharedInput {
  ValueId value = kNone;
  std::vector<Layer> layers;  // linears and convs; each weight is plain, f32, finite and used once
};

// Of the graph's layers whose activation no fake_quant has rounded yet.
std::vector<SharedInput> shared_inputs(const Graph& graph);

// How the input channels lie in the weight [O, I, taps] of such a layer: row o reads channels
// [group_of(o) * I, (group_of(o) + 1) * I).
struct InputChannels {
  int64_t rows = 0, per_row = 0, taps = 1, groups = 1;
  int64_t total() const { return per_row * groups; }
  int64_t first_of(int64_t row) const { return row / (rows / groups) * per_row; }
};
InputChannels input_channels(const Graph& graph, const Layer& layer);

// Magnitudes of each input channel, over all the layers.
std::vector<double> largest_weights(const Graph& graph, const SharedInput& input);

// Of the input, by the first layer that has them; nullptr without. Bug when the pass was given none at all.
const LayerStatistics* statistics_of(const PassContext& context, const Graph& graph, const SharedInput& input);
// Of each input channel, over the taps of a window.
std::vector<double> largest_inputs(const LayerStatistics& statistics, const InputChannels& channels);
std::vector<double> mean_squares(const LayerStatistics& statistics, const InputChannels& channels);  // needs moments

// A node that multiplies the channels of its result by its own constants: layer_norm, rms_norm, batch_norm, linear or
// conv. kNone when there is none that the input alone depends on; relu, leaky_relu, pools and the values of an
// attention may lie between.
NodeId scaling_node(const Graph& graph, const SharedInput& input);
bool can_scale_result(const Graph& graph, NodeId node);  // it is one, and its constants may change

void scale_result(Graph& graph, NodeId scaling_node, const std::vector<double>& factors);         // channel by channel
void scale_constant(Graph& graph, NodeId node, int operand, const std::vector<double>& factors);  // row by row
void replace_constant(Graph& graph, NodeId node, int operand, Tensor tensor);  // which keeps its label
std::vector<double> inverse(std::vector<double> factors);

// The weights' input channels times the factors, and the input divided by them: in the constants of scaling_node(), or
// by a multiplication before the layers where there is none.
void scale_input(Graph& graph, const SharedInput& input, const std::vector<double>& factors);

}  // namespace hone
