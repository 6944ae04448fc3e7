// The weights of a conv as the matrix that kernels walk and formats are laid on (docs/FORMATS.md, section 3.4).
#pragma once

#include <optional>
#include <span>

#include "ir/tensor.h"

namespace hone {

std::vector<int64_t> weight_matrix_shape(const std::vector<int64_t>& weights);  // of [O,I,...]: [O, window * I]

// [O,I,...] with the same values, channels fastest. Packed weights stay packed; none where their groups lie across the
// rows.
std::optional<Tensor> weight_matrix(const Tensor& weights);

// A packed tensor with other codes, one per element of `shape` in row-major order, under the same scales: `format` is
// its own but for the axis.
Tensor with_codes(const Tensor& packed, const Format& format, std::vector<int64_t> shape,
                  std::span<const uint32_t> codes);

}  // namespace hone
