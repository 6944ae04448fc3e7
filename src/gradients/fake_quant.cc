// Rounding to a number format, straight through: as if it were not there, where x lies in the format's range
// (docs/FORMATS.md, section 3.7). Scales and zero points count as constants.
#include "gradients/gradient.h"
#include "ops/calls.h"

namespace hone {
namespace {

std::vector<ValueId> straight_through(const GradientArgs& a) {
  return {ops::fake_quant_gradient(
      a.graph, {.x = a.operand(0), .d = a.d_results[0], .format = a.op().attributes.get<Format>("format")})};
}

}  // namespace

extern constinit const GradientDef fake_quant_rule_def{.op = &fake_quant_def, .rule = straight_through};
extern constinit const GradientDef round_to_rule_def{.op = &round_to_def, .rule = straight_through};

}  // namespace hone
