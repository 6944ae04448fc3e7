// Writing elements into a tensor at computed places: what scatter_elements and scatter_nd share.
#pragma once

#include "ir/op_def.h"

namespace hone {

// The attribute of both.
constexpr AttributeSpec kReduction = {"reduction", AttributeKind::string, false,
                                      "how an update joins the element it meets: none (default, it replaces it; of "
                                      "several the last stays), add, mul, min, max"};

// Data and updates of one element type, and a reduction that it has.
void expect_scatter(const TensorType& data, const TensorType& updates, const Attributes& attributes);

// `data` after updates[i] went to positions[i], counted in row-major order, one after the other.
Tensor scatter(const Tensor& data, std::span<const int64_t> positions, const Tensor& updates,
               const Attributes& attributes);

}  // namespace hone
