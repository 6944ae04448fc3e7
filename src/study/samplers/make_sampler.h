// Samplers by name, with options as texts.
#pragma once

#include "study/sampler.h"

namespace hone {

// Options: {"multivariate", "true"}. Throws Error for unknown names, with the nearest, and for values that are not
// accepted.
std::unique_ptr<Sampler> make_sampler(const std::string& name, uint64_t seed,
                                      const std::vector<std::pair<std::string, std::string>>& options = {});

}  // namespace hone
