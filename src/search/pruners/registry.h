// The generated table of pruners.
#pragma once

#include "search/pruner.h"

namespace hone::pruners {

std::span<const PrunerDef* const> all();

}  // namespace hone::pruners
