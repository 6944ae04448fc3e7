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

constexpr AttributeSpec kPlanesAttribute{
    "planes", AttributeKind::integer, false,
    "channels of x are those of so many planes, one plane behind the other, and w has the planes of a channel "
    "together, as volumes have them; default 1, and 1 in groups"};

// The shape [O,C/groups,...] of w, which may be a matrix: then kernel_shape says how far the window extends.
Shape conv_weight_shape(const Attributes& attributes, const Shape& w);

// w, which may be a matrix, as [O,C/groups,...].
Tensor conv_weights(const Attributes& attributes, const Tensor& w);

// w [O,C*planes,...], whose channels each have their planes together, with the channels of a plane together.
Tensor with_planes_apart(const Tensor& w, int64_t planes);

// w [O,C/groups,...] as the matrix.
Tensor conv_weight_matrix(const Tensor& w);

}  // namespace hone
