// Pruners by name, with options as texts.
#pragma once

#include "study/pruner.h"

namespace hone {

// "none" gives null. Throws Error for unknown names, with the nearest, and for values that are not accepted.
std::unique_ptr<Pruner> make_pruner(const std::string& name,
                                    const std::vector<std::pair<std::string, std::string>>& options = {});

}  // namespace hone
