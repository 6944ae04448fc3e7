// Rounding to a number format, straight through: as if it were not there, where x lies in the format's range
// (docs/FORMATS.md, section 3.7). Scales and zero points that follow from the data count as constants; those that are
// operands have gradients of their own.
#include <cmath>

#include "formats/scale.h"
#include "gradients/scale_groups.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/fake_quant.h"
#include "ops/scale_groups.h"

namespace hone {
namespace {

// LSQ's factor of the gradient of a scale, 1 / sqrt(n q): of n elements that share it, of which the largest is q
// scales. Sizes that only a run knows, those of batches, count as 1. The log2 of a power of two has none.
double scale_gradient_factor(const Format& format, const Shape& x) {
  if (format.scale_kind == &pow2_scale) return 1;
  double elements = 1;
  for (const Dim& size : x)
    if (size.is_constant()) elements *= static_cast<double>(size.constant());
  for (const Dim& size : scale_shape(format, x))
    if (size.is_constant()) elements /= static_cast<double>(size.constant());
  const double steps = std::ldexp(format.codec->max(format.element), format.element.fraction_bits);
  return 1 / std::sqrt(elements * steps);
}

std::vector<ValueId> by_given_scale(const GradientArgs& a) {
  Graph& g = a.graph;
  const Format format = a.op().attributes.get<Format>("format");
  const Shape x = a.type(0).shape;
  const ValueId scale = spread_over_groups(g, a.operand(1), format, x),
                zero_point = a.operand(2) == kNone ? kNone : spread_over_groups(g, a.operand(2), format, x);
  const auto by = [&](const char* operand) {
    return ops::round_scaled_gradient(g, {.x = a.operand(0),
                                          .scale = scale,
                                          .d = a.d_results[0],
                                          .zero_point = zero_point,
                                          .format = format,
                                          .by = operand});
  };
  std::vector<ValueId> gradients(a.op().operands.size(), kNone);
  if (a.wants(0)) gradients[0] = by("x");
  if (a.wants(1)) {
    const ValueId sum = as_dtype(g, summed_over_groups(g, by("scale"), format), DType::f32);
    const double factor = scale_gradient_factor(format, x);
    gradients[1] = factor == 1 ? sum : ops::mul(g, {.a = sum, .b = g.add_scalar(static_cast<float>(factor))});
  }
  if (a.wants(2)) gradients[2] = as_dtype(g, summed_over_groups(g, by("zero_point"), format), DType::f32);
  return gradients;
}

std::vector<ValueId> straight_through(const GradientArgs& a) {
  if (a.operand(1) != kNone) return by_given_scale(a);
  return {ops::fake_quant_gradient(
      a.graph, {.x = a.operand(0), .d = a.d_results[0], .format = a.op().attributes.get<Format>("format")})};
}

}  // namespace

extern constinit const GradientDef fake_quant_rule_def{.op = &fake_quant_def, .rule = straight_through};
extern constinit const GradientDef round_to_rule_def{.op = &round_to_def, .rule = straight_through};

}  // namespace hone
