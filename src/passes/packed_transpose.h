// The transpose of a packed tensor, where it has a format of its own.
#pragma once

#include <optional>

#include "ir/permutation.h"
#include "ir/tensor.h"

namespace hone {

// With the same values: where channels or groups lie along an axis, they lie along it in its new place. None for tiles,
// and for groups of tensors that are no matrices.
std::optional<Tensor> packed_transpose(const Tensor& tensor, const Permutation& perm = {1, 0});

}  // namespace hone
