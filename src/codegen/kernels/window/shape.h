// How the work of a window kernel falls into tiles and items.
#pragma once

#include "codegen/kernels/gemm/shape.h"
#include "codegen/kernels/window/plan.h"

namespace hone {

struct WindowTile {
  int64_t columns = 1, vectors = 1, chains = 1;
  bool operator==(const WindowTile&) const = default;
};

bool is_unrolled(const WindowPlan& plan);  // over the taps of a row
WindowTile window_tile(const WindowPlan& plan, const Target& target, int shrink);

int64_t channel_vectors(const WindowPlan& plan, const Target& target);
int64_t block_vectors(const WindowPlan& plan, const Target& target);   // vectors of channels in an item
int64_t channel_blocks(const WindowPlan& plan, const Target& target);  // items for a row of places

GemmShape weight_shape(const WindowPlan& plan, const Target& target);  // of packed weights
int64_t weight_row_bytes(const WindowPlan& plan,
                         const Target& target);  // from one tap's to the next's, as tiles read them

}  // namespace hone
