// mean_pool as the products and sums that kernels exist for: mask · x / max(sum(mask), 1e-9). After set_compute, so
// that pooling stays in f32.
#include "ops/registry.h"
#include "passes/pass.h"

namespace hone {
namespace {

constexpr float kSmallestCount = 1e-9f;  // as mean_pool

Graph expand_mean_pool(Graph graph, const PassContext&) {
  for (NodeId n : graph.nodes("mean_pool")) {
    const ValueId x = graph.operand(n, 0), mask = graph.operand(n, 1);
    if (graph.type(x).dtype != DType::f32 || !graph.type(x).ranked || !graph.type(mask).ranked) continue;
    const Shape shape = graph.type(graph.result(n)).shape;
    graph.set_insertion_point(n);
    const ValueId weights = graph.emit(ops::get("cast"), {mask}, {{"dtype", DType::f32}});
    const ValueId row = graph.emit(ops::get("unsqueeze"), {weights}, {{"axes", std::vector<int64_t>{1}}});
    const ValueId sums = graph.emit(ops::get("matmul"), {row, x});
    const ValueId flat = graph.emit(ops::get("reshape"), {sums}, {{"shape", shape}});
    const ValueId count = graph.emit(ops::get("reduce_sum"), {weights}, {{"axes", std::vector<int64_t>{-1}}});
    const ValueId floor = graph.emit(ops::get("max"), {count, graph.add_scalar(kSmallestCount)});
    const ValueId mean = graph.emit(ops::get("div"), {flat, floor});
    graph.set_insertion_point(kNone);
    graph.replace_all_uses(graph.result(n), mean);
    graph.erase(n);
  }
  return graph;
}

}  // namespace

extern constinit const PassDef expand_mean_pool_def{.name = "expand_mean_pool",
                                                    .doc = "mean_pool → matmul with the mask, divided by its sum.",
                                                    .run = expand_mean_pool};

}  // namespace hone
