// What a rank adds to the sum is in the losses of all: their gradients of it are summed likewise.
#include <vector>

#include "gradients/gradient.h"
#include "ops/calls/sum_over_ranks.h"

namespace hone {

extern constinit const GradientDef sum_over_ranks_rule_def{.op = &sum_over_ranks_def,
                                                           .rule = [](const GradientArgs& a) -> std::vector<ValueId> {
                                                             return {ops::sum_over_ranks(a.graph, {a.d_results[0]})};
                                                           }};

}  // namespace hone
