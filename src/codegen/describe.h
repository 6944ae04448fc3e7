// A kernel in a line for people: what was chosen, tiles, blocks, where weights are read.
#pragma once

#include <string>

#include "codegen/plan.h"

namespace hone {

std::string describe(const KernelPlan& plan, const Target& target);

}  // namespace hone
