// What planner, prepack and code generator agree on for a direct convolution: an implicit matrix product whose rows are
// output pixels and whose K runs over the window.
//
// An item is a block of output rows and one panel of outputs. What a block sees of x is copied to scratch first, with
// zeros around the plane, unless the window never leaves the plane; then the window's elements are runs at constant
// distances. A strip is a piece of an output row (of several, when rows are short) that one tile computes; window rows
// that lie outside the plane are skipped.
//
// Where dilation is so large that most taps of many pixels lie outside (skips_padding()), nothing is copied. Each
// output row falls into runs of pixels that have the same taps inside the plane, at most two for each column of the
// window and one, and strips are cut from these: no product with padding is computed.
//
// Tile registers have two halves of a strip, each in one output row, and take the window's runs in steps of
// kTileStepBytes. Runs that are no whole steps are spread: scratch has, for each row of x and each place of the window
// in it, the run filled up with zeros, as the panels of W have it.
#pragma once

#include <set>

#include "device/x86/conv/plan.h"
#include "device/x86/gemm/shape.h"

namespace hone {

class X86Emitter;

// With what launch() derives from the sizes of a plane. Strip height and chains decide bits: both follow from the plane
// by the rule of conv_shape(), for whatever plane code is made.
struct DirectConvArgs : ConvArgs {
  int64_t strip_height = 0, chains = 0, row_bytes = 0, block_rows = 0, blocks = 0, copied_bytes = 0, column_runs = 0;
  static constexpr auto places() {
    using A = DirectConvArgs;
    return std::tuple_cat(ConvArgs::places(),
                          std::tuple(SizesFrom{32}, &A::strip_height, &A::chains, &A::row_bytes, &A::block_rows,
                                     &A::blocks, &A::copied_bytes, &A::column_runs));
  }
};

// Of a plan for any plane, what depends on its sizes is 0, and gemm.rows the most rows of a tile.
struct ConvShape {
  GemmShape gemm;                             // panels, and tiles of a strip
  bool copied = false;                        // a block of x is copied to scratch
  bool spreads = false;                       // as runs of their own
  int64_t pixel_bytes = 0, row_bytes = 0;     // steps through x as it is multiplied; pixels before they are spread
  int64_t across_bytes = 0;                   // from an output pixel to the next, in what is multiplied
  int64_t run_bytes = 0;                      // of a run as tiles read it
  int64_t line_bytes = 0;                     // of a row of x before it is spread, behind the block
  int64_t segment = 0, segments_x = 1;        // K in runs that lie together, and how many a window row has
  int64_t strip_height = 0, strip_width = 0;  // output pixels of a tile
  int64_t rule_height = 0;                    // strip_height of a tile that has not been made smaller
  int64_t block_rows = 0, blocks = 0;         // output rows of an item; items per plane and panel
  int64_t block_input_rows = 0;               // rows of x that a block sees
  int64_t column_runs = 0;                    // of an output row, where taps outside the plane are left out
  int64_t fetched_bytes = 0;                  // of the next panel, beside a step of tiles
  int64_t copied_bytes() const { return copied ? block_input_rows * row_bytes + line_bytes : 0; }
  int64_t fetched_of_strip(const PlaneWindow& window) const;
  int64_t panel_rows_of_window_row() const;  // panel rows that one row of the window takes
};

Support conv_support(const X86ConvPlan& plan, const X86Target& target);
// Whether a direct one, placed on a plane, is to be `inside_only` there: a rule of its sizes.
bool skips_padding(const X86ConvPlan& plan, const X86Target& target);
ConvShape conv_shape(const X86ConvPlan& plan, const X86Target& target, int shrink = 0);
// A plan for any plane placed on that of a call; any other plan as it is.
X86ConvPlan on_plane_of(const X86ConvPlan& plan, const WindowSizes& sizes);
// What launch() gives a kernel for any plane.
void write_derived(const ConvShape& shape, KernelArgs& args);
int64_t pixels_of_line(const PlaneWindow& window);  // that one row of the window's places sees
// Tiles that a kernel for any plane needs.
struct ConvTile {
  int rows, chains;
  auto operator<=>(const ConvTile&) const = default;
};
std::set<ConvTile> tiles_of_any_plane(const X86ConvPlan& plan, const X86Target& target, int shrink);
// The product with K as it is laid out: runs of an odd length end with a zero where bf16 pairs are multiplied, those
// that are spread with as many as fill a step.
X86GemmPlan laid_out_product(const X86ConvPlan& plan, const X86Target& target);

void emit_conv(X86Emitter& e, const X86ConvPlan& plan, const std::string& symbol, int shrink);

}  // namespace hone
