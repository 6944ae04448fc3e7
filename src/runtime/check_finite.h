// Where NaN or an infinity comes from: the first result of a run that holds one.
#pragma once

#include <span>
#include <string>

#include "runtime/session.h"

namespace hone {

// The first element that is NaN or infinite, as "NaN at [0,3]"; empty when there is none.
std::string first_not_finite(const Tensor& tensor);

// Throws Error when `value`, a result of `ops` computed from `operands`, is not finite: names it, the place, the layer
// by its weights, and says of each operand whether it was. All results before this one are known to be finite.
void require_finite(const Graph& graph, ValueId id, const Tensor& value, const std::string& ops,
                    std::span<const ValueId> operands, const NamedTensors& inputs);

}  // namespace hone
