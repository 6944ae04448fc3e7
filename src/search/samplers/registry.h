// The generated table of samplers.
#pragma once

#include "search/sampler.h"

namespace hone::samplers {

std::span<const SamplerDef* const> all();

}  // namespace hone::samplers
