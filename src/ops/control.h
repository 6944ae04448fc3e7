// Ops that run bodies: if, loop, scan.
#pragma once

#include "ops/evaluate.h"

namespace hone {

bool is_control(const OpDef& op);

// What such an op's own evaluation gives, its bodies run by `run_body`.
std::vector<Tensor> evaluate_control(const OpDef& op, const EvalArgs& args, const BodyRunner& run_body);

}  // namespace hone
