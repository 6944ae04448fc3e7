// The generated table of backends.
#pragma once

#include <span>

#include "runtime/backend.h"

namespace hone::runtime {

std::span<const BackendDef* const> all();

}  // namespace hone::runtime
