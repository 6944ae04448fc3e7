// The record of jobs/explain.h.
#pragma once

#include "jobs/explain.h"
#include "report/record.h"

namespace hone {

// Steps with their kernels, what was refused and what stayed outside a group with the reasons, layout changes, shared
// kernels, and the memory plan.
Record view_of(const ExplainResult& result);

}  // namespace hone
