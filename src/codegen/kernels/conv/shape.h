// What planner, prepack and code generator agree on for a direct convolution: an implicit matrix product whose rows are
// output pixels and whose K runs over the window.
//
// An item is a block of output rows and one panel of outputs. What a block sees of x is copied to scratch first, with
// zeros around the plane, unless the window never leaves the plane; then the window's elements are runs at constant
// distances. A strip is a piece of an output row (of several, when rows are short) that one tile computes; window rows
// that lie outside the plane are skipped.
#pragma once

#include "codegen/kernels/conv/plan.h"
#include "codegen/kernels/gemm/shape.h"

namespace hone {

struct ConvShape {
  GemmShape gemm;                             // panels, and tiles of a strip
  bool copied = false;                        // a block of x is copied to scratch
  int64_t pixel_bytes = 0, row_bytes = 0;     // steps through x as it is multiplied
  int64_t segment = 0, segments_x = 1;        // K in runs that lie together, and how many a window row has
  int64_t strip_height = 1, strip_width = 1;  // output pixels of a tile
  int64_t block_rows = 1, blocks = 1;         // output rows of an item; items per plane and panel
  int64_t block_input_rows = 1;               // rows of x that a block sees
  int64_t copied_bytes() const { return copied ? block_input_rows * row_bytes : 0; }
  int64_t panel_rows_of_window_row() const;  // panel rows that one row of the window takes
};

Refusal conv_refusal(const ConvPlan& plan, const Target& target);
ConvShape conv_shape(const ConvPlan& plan, const Target& target, int shrink = 0);
// The product with K as it is laid out: runs of an odd length end with a zero where bf16 pairs are multiplied.
GemmPlan laid_out_product(const ConvPlan& plan, const Target& target);

}  // namespace hone
