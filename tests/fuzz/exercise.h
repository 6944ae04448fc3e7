// What users do with a model that opens, whatever it is: passes, runs interpreted and compiled, both ways of writing
// it.
#pragma once

#include <cstdint>
#include <functional>

#include "ir/graph.h"

namespace hone::fuzz {

// Bounds for one input, so that only what ignores them takes long or much.
constexpr int64_t kMemoryBytes = 256 << 20;
constexpr double kSeconds = 3;

// Runs what opens a model, then what is done with it. Errors and the limits may end any of it; nothing else may.
void exercise(const std::function<Graph()>& open);

}  // namespace hone::fuzz
