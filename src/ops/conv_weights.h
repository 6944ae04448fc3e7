// Weights of a convolution as its definition reads them, [O,C/groups,...], and as a matrix [O, window * C/groups] whose
// rows hold the channels of one tap together: the order in which channels-last code multiplies.
#pragma once

#include "ir/op_def.h"

namespace hone {

constexpr AttributeSpec kGroupsAttribute{"groups", AttributeKind::integer, false,
                                         "channels fall into this many separate convolutions; default 1"};
constexpr AttributeSpec kMatrixWindowAttribute{
    "kernel_shape", AttributeKind::integers, false,
    "extents of the window, for a w that is a matrix [O, window * C/groups]: the channels of one tap lie together"};

// The shape [O,C/groups,...] of w, which may be a matrix: then kernel_shape says how far the window extends.
Shape conv_weight_shape(const Attributes& attributes, const Shape& w);

// w, which may be a matrix, as [O,C/groups,...].
Tensor conv_weights(const Attributes& attributes, const Tensor& w);

// w [O,C/groups,...] as the matrix.
Tensor conv_weight_matrix(const Tensor& w);

}  // namespace hone
