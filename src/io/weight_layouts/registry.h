// The generated table of weight layouts.
#pragma once

#include <span>

#include "io/weight_layouts/weight_layout.h"

namespace hone::weight_layouts {

std::span<const WeightLayoutDef* const> all();

}  // namespace hone::weight_layouts
