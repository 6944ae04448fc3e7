// Images sampled at coordinates that are data: the gradients of both follow back what the op is in nodes. An affine
// grid is linear in its map.
#include "ops/calls/grid_sample.h"
#include "base/error.h"
#include "gradients/accumulate.h"
#include "gradients/gradient.h"
#include "gradients/grid_sample_nodes.h"
#include "ops/calls/concat.h"
#include "ops/calls/full.h"
#include "ops/calls/matmul.h"
#include "ops/calls/reshape.h"

namespace hone {
namespace {

std::vector<ValueId> grid_sample_gradient(const GradientArgs& a) {
  Node node = a.op();
  if (element_count(a.type(0).shape) == Dim(0)) return {};  // whatever the coordinates are, there is nothing
  for (size_t i = 0; i < node.operands.size(); ++i) node.operands[i] = wide_operand(a, i);
  if (const Support in_nodes = grid_sample_in_nodes(a.graph, node); !in_nodes.supported())
    fail("it samples {}", in_nodes.why);
  const ValueId sampled = grid_sample_nodes(a.graph, node);
  return gradients_through(a, {&sampled, 1}, node.operands);
}

// The grid of the maps that give the coordinates themselves, and of the one that gives 1: [1,places,d+1].
ValueId coordinates(const GradientArgs& a, const Shape& places) {
  Graph& g = a.graph;
  const auto dims = static_cast<int64_t>(places.size());
  const DType dtype = gradient_dtype(a.type(0).dtype);
  std::vector<double> identity(static_cast<size_t>(dims * (dims + 1)), 0.0);
  for (int64_t i = 0; i < dims; ++i) identity[static_cast<size_t>(i * (dims + 1) + i)] = 1;
  Shape size{1, 1};
  size.insert(size.end(), places.begin(), places.end());
  const ValueId own =
      ops::affine_grid(g, {.theta = g.add_constant("", Tensor::from_doubles(dtype, {1, dims, dims + 1}, identity)),
                           .size = size,
                           .align_corners = a.op().attributes.get_or<int64_t>("align_corners", 0)});
  const Dim count = element_count(places);
  const ValueId rows = ops::reshape(g, {.x = own, .shape = Shape{1, count, dims}}),
                ones = ops::full(g, {.shape = Shape{1, count, 1}, .value = 1.0, .dtype = dtype});
  return ops::concat(g, {.inputs = {rows, ones}, .axis = 2});
}

std::vector<ValueId> affine_grid_gradient(const GradientArgs& a) {
  Graph& g = a.graph;
  const Shape grid = a.graph.type(a.result()).shape;
  const Shape places(grid.begin() + 1, grid.end() - 1);
  const ValueId d = ops::reshape(g, {.x = a.d_results[0], .shape = Shape{grid[0], element_count(places), grid.back()}});
  return {ops::matmul(g, {.a = d, .b = coordinates(a, places), .transpose_a = 1})};
}

}  // namespace

extern constinit const GradientDef grid_sample_rule_def{.op = &grid_sample_def, .rule = grid_sample_gradient};
extern constinit const GradientDef affine_grid_rule_def{.op = &affine_grid_def, .rule = affine_grid_gradient};

}  // namespace hone
