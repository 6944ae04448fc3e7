// The generated table of scores.
#pragma once

#include "prune/score.h"

namespace hone::prune {

std::span<const ScoreDef* const> all();

}  // namespace hone::prune
