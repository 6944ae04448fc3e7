// The same elements in another shape or order, and repeated.
#include "base/error.h"
#include "gradients/gradient.h"
#include "ir/permutation.h"
#include "ops/calls/barrier.h"
#include "ops/calls/expand.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"
#include "ops/calls/reverse_sequence.h"
#include "ops/calls/shape_of.h"
#include "ops/calls/tile.h"
#include "ops/calls/transpose.h"
#include "ops/rules.h"

namespace hone {
namespace {

std::vector<ValueId> view_gradient(const GradientArgs& a) {
  if (a.type(0).ranked) return {reshaped(a.graph, a.d_results[0], a.type(0).shape)};
  return {ops::reshape(a.graph, {.x = a.d_results[0], .computed_shape = ops::shape_of(a.graph, {a.operand(0)})})};
}

std::vector<ValueId> transpose_gradient(const GradientArgs& a) {
  const size_t rank = a.type(0).rank();
  std::vector<int64_t> back(rank);
  const bool given = a.op().attributes.has("perm");
  const std::vector<size_t> perm =
      given ? checked_axes(a.op().attributes.get<std::vector<int64_t>>("perm"), rank) : std::vector<size_t>();
  for (size_t i = 0; i < rank; ++i) back[given ? perm[i] : rank - 1 - i] = static_cast<int64_t>(i);
  return {ops::transpose(a.graph, {.x = a.d_results[0], .perm = back})};
}

std::vector<ValueId> expand_gradient(const GradientArgs& a) {
  return {summed_to(a.graph, a.d_results[0], a.type(0).shape)};
}

// Axis i of the result as repeats[i] times that of x, summed over the repeats.
std::vector<ValueId> tile_gradient(const GradientArgs& a) {
  const KnownArguments known(a);
  const std::optional<Shape> repeats = dims_argument(known.infer(), 1, "repeats");
  if (!repeats) fail("its repeats are computed while it runs; accepted: an attribute or a constant");
  Shape apart;
  std::vector<int64_t> axes;
  for (size_t i = 0; i < repeats->size(); ++i) {
    axes.push_back(std::ssize(apart));
    apart.insert(apart.end(), {(*repeats)[i], a.type(0).shape[i]});
  }
  const ValueId d = reshaped(a.graph, a.d_results[0], apart);
  return {ops::reduce_sum(a.graph, {.x = d, .axes = axes, .keepdims = 0})};
}

std::vector<ValueId> reverse_sequence_gradient(const GradientArgs& a) {
  Call same{a.op().op, {a.d_results[0], a.operand(1)}, a.op().attributes};
  return {a.graph.emit(std::move(same))};
}

}  // namespace

extern constinit const GradientDef reshape_rule_def{.op = &reshape_def, .rule = view_gradient};
extern constinit const GradientDef flatten_rule_def{.op = &flatten_def, .rule = view_gradient};
extern constinit const GradientDef squeeze_rule_def{.op = &squeeze_def, .rule = view_gradient};
extern constinit const GradientDef unsqueeze_rule_def{.op = &unsqueeze_def, .rule = view_gradient};
extern constinit const GradientDef barrier_rule_def{.op = &barrier_def, .rule = view_gradient};
extern constinit const GradientDef transpose_rule_def{.op = &transpose_def, .rule = transpose_gradient};
extern constinit const GradientDef expand_rule_def{.op = &expand_def, .rule = expand_gradient};
extern constinit const GradientDef tile_rule_def{.op = &tile_def, .rule = tile_gradient};
extern constinit const GradientDef reverse_sequence_rule_def{.op = &reverse_sequence_def,
                                                             .rule = reverse_sequence_gradient};

}  // namespace hone
