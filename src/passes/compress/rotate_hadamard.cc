// Block Hadamard rotation: x and the rows of the weight are multiplied by the same orthogonal matrix, block by block
// along K, which spreads outliers over their block and leaves the products as they are. The weight's side is done here;
// that of x is a product with a constant matrix, shared by the layers that read x.
// Ashkboos et al., "QuaRot: Outlier-Free 4-Bit Inference in Rotated LLMs" (2024).
#include <cmath>
#include <map>

#include "ops/calls/linear.h"
#include "ops/calls/reshape.h"
#include "passes/compress/quantize.h"
#include "passes/compress/shared_input.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

// The largest that divides K; 0 when none does.
int64_t block_for(int64_t width) {
  for (int64_t block : {128, 64, 32})
    if (width % block == 0) return block;
  return 0;
}

// values · H / sqrt(block): the fast transform.
void transform(double* values, int64_t block) {
  for (int64_t half = 1; half < block; half *= 2)
    for (int64_t i = 0; i < block; ++i) {
      if (i & half) continue;
      const double a = values[i], b = values[i + half];
      values[i] = a + b, values[i + half] = a - b;
    }
  for (int64_t i = 0; i < block; ++i) values[i] /= std::sqrt(static_cast<double>(block));
}

// Every run of `block` values of the last axis, which it divides.
Tensor rotated(const Tensor& tensor, int64_t block) {
  std::vector<double> values = tensor.to_doubles();
  for (size_t at = 0; at < values.size(); at += static_cast<size_t>(block)) transform(values.data() + at, block);
  return Tensor::from_doubles(DType::f32, tensor.shape(), values);
}

Tensor hadamard(int64_t block) {
  std::vector<double> identity(static_cast<size_t>(block * block), 0.0);
  for (int64_t i = 0; i < block; ++i) identity[static_cast<size_t>(i * block + i)] = 1;
  return rotated(Tensor::from_doubles(DType::f32, {block, block}, identity), block);
}

// x [..., K] as [..., K / block, block] times H, and back.
ValueId rotate_value(Graph& graph, ValueId x, int64_t block, ValueId matrix) {
  const Shape whole = graph.type(x).shape;
  Shape blocks = whole;
  blocks.back() = Dim(whole.back().constant() / block);
  blocks.push_back(Dim(block));
  const ValueId split = ops::reshape(graph, {.x = x, .shape = blocks});
  const ValueId product = ops::linear(graph, {.x = split, .w = matrix});
  return ops::reshape(graph, {.x = product, .shape = whole});
}

// A product with a matrix that is no weight has rotated it already.
bool is_rotated(const Graph& graph, ValueId x) {
  const NodeId joined = produced_by(graph, x, reshape_def);
  const NodeId product = joined == kNone ? kNone : produced_by(graph, graph.operand(joined, 0), linear_def);
  return product != kNone && graph.constant(graph.operand(product, 1)) &&
         graph.value(graph.operand(product, 1)).label.empty();
}

Graph rotate_hadamard(Graph graph, const PassContext&, const FormatRules& rules) {
  const QuantizationPlan plan = plan_quantization(graph, rules);
  std::map<int64_t, ValueId> matrices;
  for (SharedInput& input : shared_inputs(graph)) {
    std::erase_if(input.layers, [&](const Layer& layer) {
      return graph.node(layer.node).op != &linear_def || !plan.format_of(layer.weight);
    });
    if (input.layers.empty() || is_rotated(graph, input.value)) continue;
    const int64_t block = block_for(input_channels(graph, input.layers[0]).per_row);
    if (block == 0) continue;
    ValueId& matrix = matrices.try_emplace(block, kNone).first->second;
    if (matrix == kNone) matrix = graph.add_constant("", hadamard(block));
    graph.set_insertion_point(input.layers[0].node);
    const ValueId x = rotate_value(graph, input.value, block, matrix);
    graph.set_insertion_point(kNone);
    for (const Layer& layer : input.layers) {
      replace_constant(graph, layer.node, 1, rotated(*graph.constant(layer.weight), block));
      graph.set_operand(layer.node, 0, x);
    }
  }
  graph.erase_unused_constants();
  return graph;
}

}  // namespace

extern constinit const PassDef rotate_hadamard_def{
    .name = "rotate_hadamard",
    .doc =
        "Linears whose weights are to be quantized compute on blocks of 32 to 128 channels rotated by a Hadamard "
        "matrix: outliers of weights and activations are spread over their block. Costs a product with that matrix.",
    .run = with_options<rotate_hadamard>};

}  // namespace hone
