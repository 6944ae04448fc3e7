// The generated table of gradient rules.
#pragma once

#include <span>

#include "gradients/gradient.h"

namespace hone::gradients {

std::span<const GradientDef* const> all();

}  // namespace hone::gradients
