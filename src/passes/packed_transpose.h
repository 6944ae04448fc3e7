// The transpose of a packed matrix, where it has a format of its own.
#pragma once

#include <optional>

#include "ir/tensor.h"

namespace hone {

// [K,N] as [N,K] with the same values: channels and groups lie along the other axis, so their planes stay what they
// are. None for tensors of another rank and for tiles.
std::optional<Tensor> packed_transpose(const Tensor& matrix);

}  // namespace hone
