#include "passes/compress/correct_bias.h"

#include <optional>

#include "ops/calls/conv.h"
#include "ops/calls/linear.h"
#include "passes/layer.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/weight_matrix.h"

namespace hone {

Tensor corrected_bias(const Tensor& bias, const Tensor& before, const Tensor& after,
                      const LayerStatistics& statistics) {
  CHECK(before.shape() == after.shape() && before.dim(1) == statistics.width);
  const auto rows = static_cast<size_t>(before.dim(0)), width = static_cast<size_t>(statistics.width);
  const std::vector<float> exact = before.to_floats(), rounded = after.to_floats();
  std::vector<double> corrected = bias.elements() > 0 ? bias.to_doubles() : std::vector<double>(rows);
  for (size_t row = 0; row < rows; ++row) {
    const size_t group = row / (rows / static_cast<size_t>(statistics.groups));
    for (size_t k = 0; k < width; ++k)
      corrected[row] += (static_cast<double>(exact[row * width + k]) - static_cast<double>(rounded[row * width + k])) *
                        static_cast<double>(statistics.mean[group * width + k]);
  }
  return Tensor::from_doubles(DType::f32, {before.dim(0)}, corrected);
}

namespace {

// The weight as the matrix that `shape` is of; none when it is another weight.
std::optional<Tensor> as_matrix(const Tensor& weight, const std::vector<int64_t>& shape) {
  if (weight.shape() == shape) return weight;
  if (weight.shape().size() <= 2 || weight_matrix_shape(weight.shape()) != shape) return std::nullopt;
  return weight_matrix(weight);
}

// "dense.bias" for the layer "dense", unless that is taken.
std::string bias_label(const Graph& graph, const std::string& layer) {
  std::string wanted = layer + ".bias";
  for (int i = 2; graph.find_constant(wanted) != kNone; ++i) wanted = fmt::format("{}.bias{}", layer, i);
  return wanted;
}

// The operands of a linear or conv with this bias, whose label is the one it had.
void set_bias(Graph& graph, const Layer& layer, ValueId old_bias, Tensor bias) {
  const Node node = graph.node(layer.node);
  const ValueId value = graph.add_constant("", std::move(bias));
  replace_node(graph, layer.node, {node.op, {node.operands[0], node.operands[1], value}, node.attributes});
  graph.set_label(value,
                  old_bias == kNone ? bias_label(graph, layer.name) : derived_label(graph, old_bias, ".corrected"));
}

void correct(Graph& graph, const Layer& layer, const Graph& original, const Statistics& statistics) {
  const std::string& label = graph.value(layer.weight).label;
  const std::vector<ValueId>& operands = graph.node(layer.node).operands;
  const ValueId source = original.find_constant(label);
  const auto of_layer = statistics.layers.find(label);
  const ValueId old_bias = operands.size() > 2 ? operands[2] : kNone;
  const Tensor* bias = graph.constant(old_bias);
  if (source == kNone || of_layer == statistics.layers.end() || operands[1] != layer.weight) return;
  if (old_bias != kNone && (!bias || bias->is_packed())) return;
  const Tensor& rounded = *graph.constant(layer.weight);
  const Tensor after = rounded.shape().size() > 2 ? weight_matrix(rounded).value_or(rounded) : rounded;
  const std::optional<Tensor> before = as_matrix(*original.constant(source), after.shape());
  if (!before || before->same_bits(after) || after.shape().size() != 2) return;
  set_bias(graph, layer, old_bias,
           corrected_bias(bias ? *bias : Tensor(DType::f32, {0}), *before, after, of_layer->second));
}

Graph correct_bias(Graph graph, const PassContext& context) {
  if (!context.statistics) fail("bias correction needs calibration data");
  CHECK(context.exact, "bias correction compares with the weights as they were");
  for (const Layer& layer : layers_of(graph)) {
    const OpDef* const op = graph.node(layer.node).op;
    if (layer.weight != kNone && (op == &linear_def || op == &conv_def))
      correct(graph, layer, *context.exact, *context.statistics);
  }
  graph.erase_unused_constants();
  graph.reinfer();
  return graph;
}

}  // namespace

extern constinit const PassDef correct_bias_def{
    .name = "correct_bias",
    .doc =
        "The bias of a linear or conv whose weight was rounded takes up what that adds to its output on average; "
        "layers without a bias get one. Biases that are packed or computed stay.",
    .run = correct_bias};

}  // namespace hone
