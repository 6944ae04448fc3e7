// The generated table of pruners.
#pragma once

#include "study/pruner.h"

namespace hone::pruners {

std::span<const PrunerDef* const> all();

}  // namespace hone::pruners
