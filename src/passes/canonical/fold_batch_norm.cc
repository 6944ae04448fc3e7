#include <cmath>

#include "ops/calls/batch_norm.h"
#include "ops/calls/conv.h"
#include "ops/calls/linear.h"
#include "ops/sliding_window.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

// Constants of a batch_norm and of the product before it, or nothing when one of them is not a plain constant. Rows of
// the weights, be they matrices or windows, are output channels.
struct Folding {
  NodeId product;
  Tensor weight;
  std::vector<double> bias;  // of the product, zeros when it has none
  std::vector<double> scale, shift, mean, variance;
};

bool is_plain_constant(const Graph& graph, ValueId id) {
  return graph.constant(id) && !graph.constant(id)->is_packed();
}

// The linear or conv that feeds nothing but this batch_norm, if its channels are the axis that is normalised.
NodeId product_before(const Graph& graph, NodeId norm) {
  const ValueId x = graph.operand(norm, 0);
  NodeId product = produced_by(graph, x, conv_def);
  if (product != kNone && channels_last(graph.node(product).attributes)) return kNone;
  if (product == kNone && graph.type(x).rank() == 2) product = produced_by(graph, x, linear_def);
  return product != kNone && graph.use_count(x) == 1 ? product : kNone;
}

// Sums of so many products hide a multiplication more of their result, and their weights are the large ones: they stay
// as they are, mapped from the file. (Folding ResNet-18's takes as long as ten of its inferences, and its memory
// twice.)
constexpr int64_t kLongSum = 256;

bool is_long_sum(const Tensor& weight) {
  return !weight.shape().empty() && element_count(weight.shape()) > kLongSum * weight.dim(0);
}

std::optional<Folding> read(const Graph& graph, NodeId norm) {
  const NodeId product = product_before(graph, norm);
  if (product == kNone) return std::nullopt;
  for (int i = 1; i < 5; ++i)
    if (!is_plain_constant(graph, graph.operand(norm, i))) return std::nullopt;
  const std::vector<ValueId>& operands = graph.node(product).operands;
  const ValueId bias = operands.size() > 2 ? operands[2] : kNone;
  if (!is_plain_constant(graph, operands[1]) || (bias != kNone && !is_plain_constant(graph, bias))) return std::nullopt;
  if (is_long_sum(*graph.constant(operands[1]))) return std::nullopt;
  auto values = [&](int i) { return graph.constant(graph.operand(norm, i))->to_doubles(); };
  Folding folding{product, *graph.constant(operands[1]), {}, values(1), values(2), values(3), values(4)};
  folding.bias = bias == kNone ? std::vector<double>(folding.scale.size(), 0.0) : graph.constant(bias)->to_doubles();
  // Where shapes are not known yet, nothing has compared these sizes.
  const std::vector<int64_t>& weight = folding.weight.shape();
  const size_t channels = weight.empty() ? 0 : static_cast<size_t>(weight[0]);
  for (const auto* each : {&folding.scale, &folding.shift, &folding.mean, &folding.variance, &folding.bias})
    if (each->size() != channels || channels == 0) return std::nullopt;
  return folding;
}

// Each row times its factor, in double and rounded once.
Tensor scaled_rows(const Tensor& weight, const std::vector<double>& factors) {
  const size_t row = static_cast<size_t>(weight.elements()) / factors.size();
  if (weight.dtype() != DType::f32) {
    std::vector<double> values = weight.to_doubles();
    for (size_t i = 0; i < values.size(); ++i) values[i] *= factors[i / row];
    return Tensor::from_doubles(weight.dtype(), weight.shape(), values);
  }
  Tensor result(DType::f32, weight.shape());
  const float* from = weight.as<float>().data();
  float* to = result.mutable_as<float>().data();
  for (double factor : factors)
    for (size_t i = 0; i < row; ++i) *to++ = static_cast<float>(*from++ * factor);
  return result;
}

void fold(Graph& graph, NodeId norm, const Folding& f) {
  const double epsilon = graph.node(norm).attributes.get_or<double>("epsilon", 1e-5);
  std::vector<double> factors, bias;
  for (size_t c = 0; c < f.scale.size(); ++c) {
    factors.push_back(f.scale[c] / std::sqrt(f.variance[c] + epsilon));
    bias.push_back((f.bias[c] - f.mean[c]) * factors[c] + f.shift[c]);
  }
  const std::vector<ValueId> old = graph.node(f.product).operands;
  const DType dtype = f.weight.dtype();
  const std::vector<int64_t> channels{static_cast<int64_t>(bias.size())};
  const ValueId new_weight = graph.add_constant("", scaled_rows(f.weight, factors));
  const ValueId new_bias = graph.add_constant("", Tensor::from_doubles(dtype, channels, bias));
  const OpDef* const op = graph.node(f.product).op;
  const Attributes attributes = graph.node(f.product).attributes;
  const ValueId shift = graph.operand(norm, 2), product = f.product;
  replace_node(graph, norm, {op, {old[0], new_weight, new_bias}, attributes});
  graph.erase(product);
  graph.set_label(new_weight, derived_label(graph, old[1], ".folded"));
  graph.set_label(new_bias, derived_label(graph, old.size() > 2 && old[2] != kNone ? old[2] : shift, ".folded"));
}

Graph fold_batch_norm(Graph graph, const PassContext&) {
  for (NodeId norm : graph.nodes(batch_norm_def))
    if (const std::optional<Folding> folding = read(graph, norm)) fold(graph, norm, *folding);
  graph.erase_unused_constants();
  return graph;
}

}  // namespace

extern constinit const PassDef fold_batch_norm_def{.name = "fold_batch_norm",
                                                   .doc =
                                                       "batch_norm with constant statistics right after linear or conv "
                                                       "goes into their weight and bias, unless they sum "
                                                       "more than 256 products.",
                                                   .run = fold_batch_norm};

}  // namespace hone
