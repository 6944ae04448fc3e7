#include <algorithm>
#include <map>

#include "ops/registry.h"
#include "passes/pass.h"
#include "passes/pipelines.h"

namespace hone {
namespace {

// How many leading operands of the op are read in the compute type.
size_t computed_operands(std::string_view op) {
  return op == "linear" ? 1 : op == "matmul" ? 2 : op == "attention" ? 3 : 0;
}

Graph set_compute(Graph graph, const PassContext& context) {
  if (context.get<Compute>() == Compute::f32) return graph;
  std::map<ValueId, ValueId> casts;
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  for (NodeId id : nodes) {
    const std::vector<ValueId> operands = graph.node(id).operands;
    for (size_t i = 0; i < std::min(computed_operands(graph.node(id).op->name), operands.size()); ++i) {
      const ValueId x = operands[i];
      if (x == kNone || graph.constant(x) || graph.type(x).dtype != DType::f32) continue;
      if (!casts.contains(x)) {
        graph.set_insertion_point(id);
        casts[x] = graph.emit(ops::get("cast"), {x}, {{"dtype", DType::bf16}});
      }
      graph.set_operand(id, static_cast<int>(i), casts[x]);
    }
  }
  graph.set_insertion_point(kNone);
  graph.reinfer();
  return graph;
}

}  // namespace

extern constinit const PassDef set_compute_def{.name = "set_compute",
                                               .doc =
                                                   "Under bf16 compute, linear, matmul and attention read their f32 "
                                                   "activations through a cast to bf16; results stay f32.",
                                               .run = set_compute};

}  // namespace hone
