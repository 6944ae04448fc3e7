// Products read f16 as f32: kernels multiply f32 and bf16, which has too few bits. What f16 holds is exact in f32,
// which the results of such products are anyway.
#include <map>

#include "ops/calls/cast.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

bool is_half(const Graph& graph, ValueId v) {
  return v != kNone && !graph.type(v).is_packed() && graph.type(v).dtype == DType::f16;
}

ValueId widened(Graph& graph, ValueId x) {
  if (const Tensor* constant = graph.constant(x))
    return graph.add_constant(derived_label(graph, x, ".f32"), constant->converted(DType::f32));
  return ops::cast(graph, {.x = x, .dtype = DType::f32});
}

Graph widen_halves(Graph graph, const PassContext&) {
  std::map<ValueId, ValueId> in_f32;
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  for (NodeId n : nodes) {
    if (graph.node(n).op->operands.factors() == 0) continue;
    for (size_t i = 0; i < graph.node(n).operands.size(); ++i) {
      const ValueId v = graph.node(n).operands[i];
      if (!is_half(graph, v)) continue;
      if (!in_f32.contains(v)) {
        graph.set_insertion_point(n);
        in_f32[v] = widened(graph, v);
        graph.set_insertion_point(kNone);
      }
      graph.set_operand(n, static_cast<int>(i), in_f32[v]);
    }
  }
  graph.erase_unused_constants();
  graph.reinfer();
  return graph;
}

}  // namespace

extern constinit const PassDef widen_halves_def{
    .name = "widen_halves", .doc = "linear, matmul, conv and attention read f16 as f32.", .run = widen_halves};

}  // namespace hone
