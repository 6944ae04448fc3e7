// The generated table of samplers.
#pragma once

#include "study/sampler.h"

namespace hone::samplers {

std::span<const SamplerDef* const> all();

}  // namespace hone::samplers
