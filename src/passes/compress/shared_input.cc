#include "passes/compress/shared_input.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "ops/calls/activations.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/attention.h"
#include "ops/calls/batch_norm.h"
#include "ops/calls/conv.h"
#include "ops/calls/fake_quant.h"
#include "ops/calls/linear.h"
#include "ops/calls/mean_pool.h"
#include "ops/calls/normalisation.h"
#include "ops/calls/pool.h"
#include "ops/sliding_window.h"
#include "passes/match.h"

namespace hone {
namespace {

bool is_op(const Graph& graph, NodeId node, std::initializer_list<const OpDef*> ops) {
  return std::ranges::find(ops, graph.node(node).op) != ops.end();
}

// A plain constant that nothing else reads: it may change and keep its name.
bool is_own_constant(const Graph& graph, ValueId id) {
  return graph.constant(id) && !graph.constant(id)->is_packed() && graph.use_count(id) == 1;
}

bool is_finite(const Tensor& tensor) {
  const std::vector<float> values = tensor.to_floats();
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

bool can_scale(const Graph& graph, const Layer& layer) {
  if (!is_op(graph, layer.node, {&linear_def, &conv_def}) || layer.weight == kNone) return false;
  const Attributes& attributes = graph.node(layer.node).attributes;
  if (channels_last(attributes) || attributes.has("kernel_shape")) return false;
  const bool is_rounded = produced_by(graph, graph.operand(layer.node, 0), fake_quant_def) != kNone;
  return !is_rounded && is_own_constant(graph, layer.weight) && graph.type(layer.weight).dtype == DType::f32 &&
         graph.constant(layer.weight)->elements() > 0 && is_finite(*graph.constant(layer.weight));
}

size_t channel_axis(const Graph& graph, NodeId node) {
  return is_op(graph, node, {&conv_def, &batch_norm_def}) ? 1 : graph.type(graph.result(node)).rank() - 1;
}

// The operand whose channels the node passes on, each by itself and with any positive factor; kNone for other nodes.
ValueId passed_on(const Graph& graph, NodeId node, size_t axis) {
  const Node& n = graph.node(node);
  if (is_op(graph, node, {&relu_def, &leaky_relu_def})) return n.operands[0];
  if (is_op(graph, node, {&max_pool_def, &avg_pool_def, &mean_pool_def}) && axis == 1 && !channels_last(n.attributes))
    return n.operands[0];
  const int64_t heads = n.attributes.get_or<int64_t>("heads", 0);
  const bool is_attention = is_op(graph, node, {&attention_def}) && axis == graph.type(n.results[0]).rank() - 1;
  return is_attention && n.attributes.get_or<int64_t>("kv_heads", heads) == heads ? n.operands[2] : kNone;
}

// Constants of the node that multiply, or are added to, the channels of its result.
std::vector<int> channel_constants(const Graph& graph, NodeId node) {
  if (!is_op(graph, node, {&layer_norm_def, &rms_norm_def, &batch_norm_def, &linear_def, &conv_def})) return {};
  std::vector<int> found{1};
  if (graph.node(node).operands.size() > 2 && graph.operand(node, 2) != kNone) found.push_back(2);
  return found;
}

// fn(place, channel) for each element of the weight [O, I, taps].
template <class Fn>
void for_each_weight(const InputChannels& channels, Fn fn) {
  size_t at = 0;
  for (int64_t row = 0; row < channels.rows; ++row)
    for (int64_t c = 0; c < channels.per_row; ++c)
      for (int64_t tap = 0; tap < channels.taps; ++tap) fn(at++, static_cast<size_t>(channels.first_of(row) + c));
}

// fold(result of a channel, column of the statistics): statistics lie [groups, taps, I].
template <class Fn>
std::vector<double> over_taps(const LayerStatistics& statistics, const InputChannels& channels, Fn fold) {
  CHECK(statistics.width == channels.per_row * channels.taps && statistics.groups == channels.groups,
        "statistics of another layer");
  std::vector<double> result(static_cast<size_t>(channels.total()), 0.0);
  for (int64_t g = 0; g < channels.groups; ++g)
    for (int64_t tap = 0; tap < channels.taps; ++tap)
      for (int64_t c = 0; c < channels.per_row; ++c) {
        double& of_channel = result[static_cast<size_t>(g * channels.per_row + c)];
        of_channel = fold(of_channel, g, tap * channels.per_row + c);
      }
  return result;
}

// A multiplication of the value before the first of the layers, which all read its result.
void multiply(Graph& graph, const SharedInput& input, const std::vector<double>& factors) {
  const size_t rank = graph.type(input.value).rank();
  const bool is_image = is_op(graph, input.layers[0].node, {&conv_def});
  std::vector<int64_t> shape{static_cast<int64_t>(factors.size())};
  if (is_image) shape.resize(rank - 1, 1);
  graph.set_insertion_point(input.layers[0].node);
  const ValueId scale = graph.add_constant("", Tensor::from_doubles(DType::f32, shape, factors));
  const ValueId product = ops::mul(graph, {input.value, scale});
  graph.set_insertion_point(kNone);
  for (const Layer& layer : input.layers) graph.set_operand(layer.node, 0, product);
}

}  // namespace

bool can_scale_result(const Graph& graph, NodeId node) {
  const std::vector<int> constants = channel_constants(graph, node);
  return !constants.empty() && graph.node(node).operands.size() > 1 &&
         !(is_op(graph, node, {&conv_def}) && channels_last(graph.node(node).attributes)) &&
         std::all_of(constants.begin(), constants.end(), [&](int i) {
           const ValueId id = graph.operand(node, i);
           return id != kNone && is_own_constant(graph, id) && graph.type(id).dtype == DType::f32;
         });
}

void replace_constant(Graph& graph, NodeId node, int operand, Tensor tensor) {
  const ValueId old = graph.operand(node, operand), fresh = graph.add_constant("", std::move(tensor));
  graph.set_operand(node, operand, fresh);
  graph.set_label(fresh, derived_label(graph, old, ".scaled"));
}

std::vector<double> inverse(std::vector<double> factors) {
  for (double& f : factors) f = 1 / f;
  return factors;
}

std::vector<SharedInput> shared_inputs(const Graph& graph) {
  std::vector<SharedInput> inputs;
  std::map<std::pair<ValueId, size_t>, size_t> places;  // by value and channel axis
  for (Layer& layer : layers_of(graph)) {
    if (!can_scale(graph, layer)) continue;
    const ValueId value = graph.operand(layer.node, 0);
    const auto [place, is_new] = places.emplace(std::pair(value, channel_axis(graph, layer.node)), inputs.size());
    if (is_new) inputs.push_back({value, {}});
    inputs[place->second].layers.push_back(std::move(layer));
  }
  return inputs;
}

InputChannels input_channels(const Graph& graph, const Layer& layer) {
  const std::vector<int64_t>& shape = graph.constant(layer.weight)->shape();
  InputChannels channels{.rows = shape[0], .per_row = shape[1]};
  for (size_t i = 2; i < shape.size(); ++i) channels.taps *= shape[i];
  channels.groups = graph.node(layer.node).attributes.get_or<int64_t>("groups", 1);
  return channels;
}

std::vector<double> largest_weights(const Graph& graph, const SharedInput& input) {
  std::vector<double> largest(static_cast<size_t>(input_channels(graph, input.layers[0]).total()), 0.0);
  for (const Layer& layer : input.layers) {
    const std::span<const float> weights = graph.constant(layer.weight)->as<float>();
    for_each_weight(input_channels(graph, layer), [&](size_t at, size_t channel) {
      largest[channel] = std::max(largest[channel], std::abs(static_cast<double>(weights[at])));
    });
  }
  return largest;
}

const LayerStatistics* statistics_of(const PassContext& context, const Graph& graph, const SharedInput& input) {
  if (!context.statistics) fail("statistics of the inputs of layers need calibration data");
  for (const Layer& layer : input.layers) {
    const auto found = context.statistics->layers.find(graph.value(layer.weight).label);
    if (found != context.statistics->layers.end() && found->second.vectors > 0) return &found->second;
  }
  return nullptr;
}

std::vector<double> largest_inputs(const LayerStatistics& statistics, const InputChannels& channels) {
  return over_taps(statistics, channels, [&](double largest, int64_t group, int64_t column) {
    const double of_column = statistics.max_abs[static_cast<size_t>(group * statistics.width + column)];
    return std::max(largest, of_column);
  });
}

std::vector<double> mean_squares(const LayerStatistics& statistics, const InputChannels& channels) {
  CHECK(!statistics.moment.empty(), "statistics without second moments");
  return over_taps(statistics, channels, [&](double sum, int64_t group, int64_t column) {
    const int64_t at = (group * statistics.width + column) * statistics.width + column;
    return sum + statistics.moment[static_cast<size_t>(at)] / static_cast<double>(channels.taps);
  });
}

NodeId scaling_node(const Graph& graph, const SharedInput& input) {
  const size_t axis = channel_axis(graph, input.layers[0].node) == 1 ? 1 : graph.type(input.value).rank() - 1;
  ValueId value = input.value;
  int readers = static_cast<int>(input.layers.size());
  while (graph.use_count(value) == readers && graph.producer(value) != kNone) {
    const NodeId node = graph.producer(value);
    if (can_scale_result(graph, node)) return channel_axis(graph, node) == axis ? node : kNone;
    value = passed_on(graph, node, axis);
    if (value == kNone) return kNone;
    readers = 1;
  }
  return kNone;
}

void scale_constant(Graph& graph, NodeId node, int operand, const std::vector<double>& factors) {
  const Tensor& old = *graph.constant(graph.operand(node, operand));
  std::vector<double> values = old.to_doubles();
  const size_t row = values.size() / factors.size();
  for (size_t i = 0; i < values.size(); ++i) values[i] *= factors[i / row];
  replace_constant(graph, node, operand, Tensor::from_doubles(DType::f32, old.shape(), values));
}

void scale_result(Graph& graph, NodeId scaling_node, const std::vector<double>& factors) {
  for (int operand : channel_constants(graph, scaling_node)) scale_constant(graph, scaling_node, operand, factors);
}

void scale_input(Graph& graph, const SharedInput& input, const std::vector<double>& factors) {
  const NodeId node = scaling_node(graph, input);
  if (node != kNone) scale_result(graph, node, inverse(factors));
  else multiply(graph, input, inverse(factors));
  for (const Layer& layer : input.layers) {
    Tensor weight = *graph.constant(graph.operand(layer.node, 1));
    const std::span<float> values = weight.mutable_as<float>();
    for_each_weight(input_channels(graph, layer),
                    [&](size_t at, size_t channel) { values[at] = static_cast<float>(values[at] * factors[channel]); });
    replace_constant(graph, layer.node, 1, std::move(weight));
  }
}

}  // namespace hone
