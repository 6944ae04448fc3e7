// How the work of a window kernel falls into tiles and items.
#pragma once

#include "device/x86/gemm/shape.h"
#include "kernels/reduce_window/plan.h"

namespace hone {

class X86Emitter;

// With what launch() derives from the sizes of a plane: vectors of channels in an item, items for a row of places, and
// the places [first, end) for inner tiles: those under which the whole window lies in the plane's columns, but none in
// a short row; and how many columns the last window reaches out of the plane, -1 where the padding is not the usual
// one.
struct WindowTileArgs : ReduceWindowArgs {
  int64_t block_vectors = 0, blocks = 0, inside_first = 0, inside_end = 0, overhang = 0;
  static constexpr auto places() {
    using A = WindowTileArgs;
    return std::tuple_cat(ReduceWindowArgs::places(), std::tuple(SizesFrom{32}, &A::block_vectors, &A::blocks,
                                                                 &A::inside_first, &A::inside_end, &A::overhang));
  }
};

// Chains decide bits, and follow from the channels and the width of the window alone.
struct ReduceWindowTile {
  int64_t columns = 1, vectors = 1, chains = 1;
  bool operator==(const ReduceWindowTile&) const = default;
};

inline constexpr int64_t kMostUnrolled = 7;      // taps of a row: their weights fill a quarter of 32 registers
bool is_unrolled(const ReduceWindowPlan& plan);  // over the taps of a row
ReduceWindowTile window_tile(const ReduceWindowPlan& plan, const X86Target& target, int shrink);
// For any plane: the tile of places whose taps all lie in it, which others are as wide as that leave out those of the
// usual padding; that of any places; and, where rows are not unrolled, that of any one place.
ReduceWindowTile inner_tile(const ReduceWindowPlan& plan, const X86Target& target, int shrink);
ReduceWindowTile border_tile(const ReduceWindowPlan& plan, const X86Target& target);
// Half a window, for which there are tiles: columns that the first window reaches out of the plane; the last does so by
// at least least_overhang(), and at most as many, however wide the plane is.
int64_t usual_padding(const ReduceWindowPlan& plan);
int64_t least_overhang(const ReduceWindowPlan& plan);
ReduceWindowTile single_tile(const ReduceWindowPlan& plan, const X86Target& target, int shrink);

// A plan for any plane with the sizes of a call; any other plan as it is.
ReduceWindowPlan on_plane_of(const ReduceWindowPlan& plan, const WindowSizes& sizes);
void write_derived(const ReduceWindowPlan& placed, const X86Target& target, WindowTileArgs& args);

int64_t channel_vectors(const ReduceWindowPlan& plan, const X86Target& target);
int64_t block_vectors(const ReduceWindowPlan& plan, const X86Target& target);   // vectors of channels in an item
int64_t channel_blocks(const ReduceWindowPlan& plan, const X86Target& target);  // items for a row of places

GemmShape weight_shape(const ReduceWindowPlan& plan, const X86Target& target);  // of packed weights
int64_t weight_row_bytes(const ReduceWindowPlan& plan,
                         const X86Target& target);  // from one tap's to the next's, as tiles read them

void emit_reduce_window(X86Emitter& e, const ReduceWindowPlan& plan, const std::string& symbol, int shrink);

}  // namespace hone
