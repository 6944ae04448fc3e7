// What stands around and for a window over [N,H,W,C]: shared by the passes that emit such nodes.
#pragma once

#include "ir/graph.h"

namespace hone {

// [N,C,W] or [N,C,H,W] as [N,H,W,C], where a line has height 1; and back to `rank` dimensions.
ValueId to_channels_last(Graph& graph, ValueId x);
ValueId to_channels_first(Graph& graph, ValueId y, size_t rank);

// A convolution of x [N,H,W,C] with weights [O, window * C/groups]: `operands` are x, weights and maybe a bias,
// `attributes` those of conv with kernel_shape. A window of one pixel that neither strides nor pads is a linear.
ValueId emit_convolution(Graph& graph, std::vector<ValueId> operands, Attributes attributes);

// Phases of a stride, side by side: [N,H,W,down*across*C] as [N,H*down,W*across,C].
ValueId interleaved(Graph& graph, ValueId phases, int64_t down, int64_t across);

}  // namespace hone
