// The generated table of passes.
#pragma once

#include <span>

#include "passes/pass.h"

namespace hone::passes {

std::span<const PassDef* const> all();

}  // namespace hone::passes
