// mean_pool as the products and sums that kernels exist for: mask · x / max(sum(mask), 1e-9). After set_compute, so
// that pooling stays in f32.
#include "ops/calls/arithmetic.h"
#include "ops/calls/cast.h"
#include "ops/calls/matmul.h"
#include "ops/calls/mean_pool.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"
#include "passes/pass.h"

namespace hone {
namespace {

constexpr float kSmallestCount = 1e-9f;  // as mean_pool

Graph expand_mean_pool(Graph graph, const PassContext&) {
  for (NodeId n : graph.nodes(mean_pool_def)) {
    const ValueId x = graph.operand(n, 0), mask = graph.operand(n, 1);
    if (graph.type(x).dtype != DType::f32 || !graph.type(x).ranked || !graph.type(mask).ranked) continue;
    const Shape shape = graph.type(graph.result(n)).shape;
    graph.set_insertion_point(n);
    const ValueId weights = ops::cast(graph, {.x = mask, .dtype = DType::f32});
    const ValueId row = ops::unsqueeze(graph, {.x = weights, .axes = std::vector<int64_t>{1}});
    const ValueId sums = ops::matmul(graph, {row, x});
    const ValueId flat = ops::reshape(graph, {.x = sums, .shape = shape});
    const ValueId count = ops::reduce_sum(graph, {.x = weights, .axes = std::vector<int64_t>{-1}});
    const ValueId floor = ops::max(graph, {count, graph.add_scalar(kSmallestCount)});
    const ValueId mean = ops::div(graph, {flat, floor});
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
