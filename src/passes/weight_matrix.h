// The weights of a conv as the matrix that kernels walk and formats are laid on (docs/FORMATS.md, section 3.4).
#pragma once

#include <optional>

#include "ir/tensor.h"

namespace hone {

std::vector<int64_t> weight_matrix_shape(const std::vector<int64_t>& weights);  // of [O,I,...]: [O, window * I]

// [O,I,...] with the same values, channels fastest. Packed weights stay packed; none where their groups lie across the
// rows.
std::optional<Tensor> weight_matrix(const Tensor& weights);

}  // namespace hone
