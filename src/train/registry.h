// The generated table of optimizers.
#pragma once

#include "train/optimizers/optimizer.h"

namespace hone::train {

std::span<const OptimizerDef* const> all();

}  // namespace hone::train
