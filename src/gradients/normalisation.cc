// Normalisations over the last axis: the gradient of x by one row op each, those of weight and bias by sums over rows.
#include "ops/calls/normalisation.h"
#include "gradients/gradient.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/norm_gradient.h"

namespace hone {
namespace {

// What normalises and what its gradient is, with the node's epsilon.
template <class Forward, class Gradient>
std::vector<ValueId> norm_gradient(const GradientArgs& a) {
  Graph& g = a.graph;
  const ValueId d = a.d_results[0], weight = a.operand(1);
  std::optional<double> epsilon;
  if (a.op().attributes.has("epsilon")) epsilon = a.op().attributes.get<double>("epsilon");
  std::vector<ValueId> gradients(a.op().operands.size(), kNone);
  if (a.wants(0)) gradients[0] = g.emit(Gradient{.x = a.operand(0), .d = d, .weight = weight, .epsilon = epsilon});
  if (a.wants(1)) {
    const ValueId normalised = g.emit(Forward{.x = wide_operand(a, 0), .epsilon = epsilon});
    gradients[1] = summed_to(g, ops::mul(g, {d, normalised}), a.type(1).shape);
  }
  if (a.wants(2)) gradients[2] = summed_to(g, d, a.type(2).shape);
  return gradients;
}

std::vector<ValueId> l2_normalise_gradient(const GradientArgs& a) {
  const std::optional<double> epsilon =
      a.op().attributes.has("epsilon") ? std::optional(a.op().attributes.get<double>("epsilon")) : std::nullopt;
  return {ops::l2_normalise_gradient(a.graph, {.x = a.operand(0), .d = a.d_results[0], .epsilon = epsilon})};
}

}  // namespace

extern constinit const GradientDef layer_norm_rule_def{.op = &layer_norm_def,
                                                       .rule = norm_gradient<ops::LayerNorm, ops::LayerNormGradient>};
extern constinit const GradientDef rms_norm_rule_def{.op = &rms_norm_def,
                                                     .rule = norm_gradient<ops::RmsNorm, ops::RmsNormGradient>};
extern constinit const GradientDef l2_normalise_rule_def{.op = &l2_normalise_def, .rule = l2_normalise_gradient};

}  // namespace hone
