// What graphs in canonical form go through before they are fused: passes by their names, in their order, set_compute
// among them.
#pragma once

#include <span>

namespace hone {

struct Pipeline {
  std::span<const char* const> passes;
};

extern const Pipeline kChannelsLast;  // convolutions and pools are of images whose channels lie together

}  // namespace hone
