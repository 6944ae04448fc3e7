// The window of a conv or pool with channels last, once all sizes are known.
#pragma once

#include <optional>

#include "codegen/plan.h"
#include "ir/graph.h"

namespace hone {

struct PlacedWindow {
  int64_t images = 1, channels = 1;  // of x
  PlaneWindow plane;
  int64_t pad_bottom = 0, pad_right = 0;  // as far as windows reach into it
};

// Of node `n`, whose x is [N,W,C] or [N,H,W,C]; none: x has more dimensions, or its channels come before them.
std::optional<PlacedWindow> placed_window(const Graph& graph, NodeId n);

}  // namespace hone
