// How the gradient of a convolution's weights falls into tiles, blocks and items.
//
// An item is a block of outputs times a block of channels, at all taps, over one part of the places. It goes through
// these block by block: what a block reads of d and x is copied to scratch as panels, d in panels of `columns()`
// outputs, x in panels of `rows` channels; then each pair of panels meets at each tap, in a tile of rows x columns()
// sums whose loop runs over the places at which the tap lies in the plane. Nothing is multiplied with the padding.
//
// Bits depend on the blocks and parts of the places, which follow from the sizes alone.
#pragma once

#include "device/x86/conv_weight_gradient/plan.h"
#include "device/x86/target.h"

namespace hone {

class X86Emitter;

struct WeightGradientShape {
  int lanes = 0, vectors = 0, rows = 0;  // of a tile
  // Of single channels in groups, lanes are groups: one panel of x for each of d, and tiles of one row.
  bool depthwise = false;
  // Products are bf16 dot products of two places beside each other: panels hold, at each place, what lies there and at
  // the next one of the row that a tap meets, in the halves of 32 bits, and zero behind the last. A tile that begins at
  // any place so takes two at a time; of an odd number, one factor of the last one's second product is zero.
  bool dot = false;
  int64_t groups = 1, outputs = 1, channels = 1;  // as tiles see them: of depthwise ones, the groups are outputs
  int64_t block_outputs = 0, block_channels = 0;

  int64_t columns() const { return int64_t{vectors} * lanes; }
  int64_t x_columns() const { return depthwise ? columns() : rows; }  // of a panel of x
  int64_t output_blocks() const;
  int64_t channel_blocks() const;
  int64_t items_of_part() const { return groups * output_blocks() * channel_blocks(); }
  int64_t block_panels() const { return block_outputs / columns(); }
  int64_t sum_rows(int64_t taps) const;  // of sums, of a panel of outputs
  int64_t sums_bytes(int64_t taps) const;
};
WeightGradientShape weight_gradient_shape(const X86ConvWeightGradientPlan& plan, const X86Target& target,
                                          int shrink = 0);

// The most parts that there are for any sizes.
int64_t most_parts(const X86ConvWeightGradientPlan& plan, const X86Target& target);

// Blocks of places, for the sizes of a call.
struct PlaceBlocks {
  int64_t images = 1, rows = 1, columns = 1;  // of a block
  int64_t count = 0, parts = 1;
  int64_t seen = 0;  // pixels of x under a block, at most
  int64_t places() const { return images * rows * columns; }
};
PlaceBlocks place_blocks(const X86ConvWeightGradientPlan& plan, const X86Target& target,
                         const ConvWeightGradientArgs& args);

void emit_conv_weight_gradient(X86Emitter& e, const X86ConvWeightGradientPlan& plan, const std::string& symbol,
                               int shrink);

}  // namespace hone
