// Codes pass through what only moves or compares them, and what rounds them to the codes that they are.
#include <cmath>
#include <limits>

#include "ops/calls/pool.h"
#include "ops/calls/quantize_linear.h"
#include "ops/calls/reshape.h"
#include "ops/calls/transpose.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

// What dequantize_linear decodes by one scale and zero point, which are known.
struct Decoded {
  ValueId codes, scale, zero;  // zero: kNone where there is none
  DType dtype;
  float step;
  int64_t zero_point;
};

std::optional<int64_t> zero_point_of(const Graph& graph, ValueId zero, DType dtype) {
  if (zero == kNone) return 0;
  const Tensor* tensor = graph.constant(zero);
  if (!tensor || tensor->dtype() != dtype || !tensor->shape().empty()) return std::nullopt;
  return tensor->to_integers()[0];
}

// A scale by which all codes of 8 bits stay apart, in order and finite.
std::optional<float> step_of(const Graph& graph, ValueId scale) {
  const Tensor* tensor = graph.constant(scale);
  if (!tensor || tensor->is_packed() || tensor->dtype() != DType::f32 || !tensor->shape().empty()) return std::nullopt;
  const float step = tensor->to_floats()[0];
  const bool is_normal = step >= std::numeric_limits<float>::min() && std::isfinite(step * 255);
  return is_normal ? std::optional(step) : std::nullopt;
}

std::optional<Decoded> decoded(const Graph& graph, ValueId v) {
  const NodeId id = produced_by(graph, v, dequantize_linear_def);
  if (id == kNone || graph.type(v).dtype != DType::f32) return std::nullopt;
  const std::vector<ValueId>& operands = graph.node(id).operands;
  const ValueId codes = operands[0], zero = operands.size() > 2 ? operands[2] : kNone;
  const DType dtype = graph.type(codes).dtype;
  if ((dtype != DType::i8 && dtype != DType::u8) || graph.constant(codes)) return std::nullopt;
  const std::optional<float> step = step_of(graph, operands[1]);
  const std::optional<int64_t> zero_point = zero_point_of(graph, zero, dtype);
  if (!step || !zero_point) return std::nullopt;
  return Decoded{codes, operands[1], zero, dtype, *step, *zero_point};
}

void sink(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  const std::optional<Decoded> x = decoded(graph, node.operands[0]);
  if (!x) return;
  std::vector<ValueId> operands = node.operands;
  operands[0] = x->codes;
  TensorType type = graph.type(node.results[0]);
  type.dtype = x->dtype;
  graph.set_insertion_point(id);
  const ValueId codes = graph.emit(*node.op, operands, node.attributes);
  graph.refine_type(codes, type);
  const ValueId y =
      ops::dequantize_linear(graph, {.x = codes, .scale = x->scale, .zero_point = x->zero, .dtype = DType::f32});
  replace_by_value(graph, id, y);
  graph.set_insertion_point(kNone);
}

// (q - z) * s is rounded once and its quotient by s once more: together less than half a step for 255 of them.
void cancel(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const std::optional<Decoded> x = decoded(graph, node.operands[0]);
  if (!x || graph.type(node.results[0]).dtype != x->dtype || step_of(graph, node.operands[1]) != x->step) return;
  const ValueId zero = node.operands.size() > 2 ? node.operands[2] : kNone;
  if (zero_point_of(graph, zero, x->dtype) == x->zero_point) replace_by_value(graph, id, x->codes);
}

Graph sink_dequantize(Graph graph, const PassContext&) {
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  for (NodeId id : nodes) {
    const OpDef* op = graph.node(id).op;
    if (op == &max_pool_def || op == &reshape_def || op == &transpose_def) sink(graph, id);
    else if (op == &quantize_linear_def) cancel(graph, id);
  }
  return graph;
}

}  // namespace

extern constinit const PassDef sink_dequantize_def{
    .name = "sink_dequantize",
    .doc =
        "dequantize_linear by one scale goes behind max_pool, reshape and transpose, which work on codes then; "
        "quantize_linear by the scale and zero point that codes had gives the codes.",
    .run = sink_dequantize};

}  // namespace hone
