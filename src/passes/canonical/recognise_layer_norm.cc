// Layer normalisation spelled in primitives:
//   d = x - mean(x);  y = d / sqrt(mean(d^2) + epsilon) [* weight [+ bias]]
#include "ops/calls/arithmetic.h"
#include "ops/calls/normalisation.h"
#include "ops/calls/reduce.h"
#include "ops/calls/transcendental.h"
#include "passes/match.h"
#include "passes/moved_parameter.h"
#include "passes/pass.h"

namespace hone {
namespace {

struct Normalised {
  ValueId x;
  double epsilon;
};

bool is_square_of(const Graph& graph, ValueId id, ValueId d) {
  const NodeId mul = produced_by(graph, id, mul_def);
  if (mul != kNone) return graph.operand(mul, 0) == d && graph.operand(mul, 1) == d;
  const auto pow = with_number(graph, produced_by(graph, id, pow_def));
  return pow && !pow->reversed && pow->value == d && pow->number == 2;
}

// x when d = x - mean(x) along the last axis.
ValueId centred_value(const Graph& graph, ValueId d) {
  const NodeId sub = produced_by(graph, d, sub_def);
  if (sub == kNone) return kNone;
  const ValueId x = graph.operand(sub, 0);
  const NodeId mean = produced_by(graph, graph.operand(sub, 1), reduce_mean_def);
  return mean != kNone && graph.operand(mean, 0) == x && reduces_last_axis(graph, mean) ? x : kNone;
}

// epsilon when the value is mean(d^2) + epsilon.
std::optional<double> variance_of(const Graph& graph, ValueId id, ValueId d) {
  const auto add = with_number(graph, produced_by(graph, id, add_def));
  if (!add) return std::nullopt;
  const NodeId mean = produced_by(graph, add->value, reduce_mean_def);
  if (mean == kNone || !reduces_last_axis(graph, mean) || !is_square_of(graph, graph.operand(mean, 0), d))
    return std::nullopt;
  return add->number;
}

std::optional<Normalised> normalised(const Graph& graph, ValueId d, ValueId variance) {
  const ValueId x = centred_value(graph, d);
  if (x == kNone || !is_float(graph.type(x).dtype)) return std::nullopt;
  const std::optional<double> epsilon = variance_of(graph, variance, d);
  if (!epsilon) return std::nullopt;
  return Normalised{x, *epsilon};
}

// d / sqrt(v), d * rsqrt(v), d * reciprocal(sqrt(v)) or d * (1 / sqrt(v)), in either order.
std::optional<Normalised> match(const Graph& graph, NodeId root) {
  const bool is_div = graph.node(root).op == &div_def;
  for (int i : {0, 1}) {
    const ValueId d = graph.operand(root, i);
    ValueId other = graph.operand(root, 1 - i);
    if (is_div && i == 1) break;
    NodeId sqrt = kNone;
    if (is_div) {
      sqrt = produced_by(graph, other, sqrt_def);
    } else if (sqrt = produced_by(graph, other, rsqrt_def); sqrt == kNone) {
      const NodeId reciprocal = produced_by(graph, other, reciprocal_def);
      const auto one_over = with_number(graph, produced_by(graph, other, div_def));
      if (reciprocal != kNone) sqrt = produced_by(graph, graph.operand(reciprocal, 0), sqrt_def);
      else if (one_over && one_over->reversed && one_over->number == 1)
        sqrt = produced_by(graph, one_over->value, sqrt_def);
    }
    if (sqrt == kNone) continue;
    if (auto found = normalised(graph, d, graph.operand(sqrt, 0))) return found;
  }
  return std::nullopt;
}

// The node that alone uses `y` as `op` with a constant or parameter [C], and that.
struct Affine {
  NodeId node = kNone;
  ValueId constant = kNone;
};
Affine affine(const Graph& graph, ValueId y, const OpDef& op) {
  const std::vector<Graph::Use> uses = graph.uses(y);
  if (uses.size() != 1 || graph.use_count(y) != 1 || graph.node(uses[0].node).op != &op) return {};
  const NodeId node = uses[0].node;
  const ValueId other = operand_beside(graph, node, y);
  const bool fits = other != kNone && (graph.constant(other) || is_moved_parameter(graph, other)) &&
                    graph.type(y).rank() > 0 && graph.type(other).shape == Shape{graph.type(y).shape.back()} &&
                    is_float(graph.type(other).dtype) && graph.type(graph.result(node)) == graph.type(y);
  return fits ? Affine{node, other} : Affine{};
}

void recognise(Graph& graph, NodeId root) {
  const std::optional<Normalised> found = match(graph, root);
  if (!found || graph.type(graph.result(root)) != graph.type(found->x)) return;
  const Affine weight = affine(graph, graph.result(root), mul_def);
  const Affine bias = weight.node != kNone ? affine(graph, graph.result(weight.node), add_def) : Affine{};
  const NodeId last = bias.node != kNone ? bias.node : weight.node != kNone ? weight.node : root;
  replace_node(
      graph, last,
      ops::LayerNorm{.x = found->x, .weight = weight.constant, .bias = bias.constant, .epsilon = found->epsilon});
}

Graph recognise_layer_norm(Graph graph, const PassContext&) {
  for (const OpDef* op : {&div_def, &mul_def})
    for (NodeId id : graph.nodes(*op))
      if (graph.node(id).live) recognise(graph, id);
  return graph;
}

}  // namespace

extern constinit const PassDef recognise_layer_norm_def{
    .name = "recognise_layer_norm",
    .doc = "(x - mean) / sqrt(variance + epsilon) * weight + bias, spelled in primitives, becomes layer_norm.",
    .run = recognise_layer_norm};

}  // namespace hone
