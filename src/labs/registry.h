// The generated table of labs.
#pragma once

#include <span>

#include "labs/lab.h"

namespace hone::labs {

std::span<const LabDef* const> all();

}  // namespace hone::labs
