#include "passes/packed_transpose.h"

#include "passes/weight_matrix.h"

namespace hone {
namespace {

// One group, or none: only codes change places.
Tensor with_moved_codes(const Tensor& matrix) {
  const auto rows = static_cast<size_t>(matrix.dim(0)), columns = static_cast<size_t>(matrix.dim(1));
  const std::vector<uint32_t> codes = codes_of(*matrix.format(), matrix.shape(), matrix.planes());
  std::vector<uint32_t> moved(codes.size());
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j) moved[j * rows + i] = codes[i * columns + j];
  return with_codes(matrix, *matrix.format(), {matrix.dim(1), matrix.dim(0)}, moved);
}

}  // namespace

std::optional<Tensor> packed_transpose(const Tensor& matrix) {
  if (!matrix.is_packed() || matrix.shape().size() != 2) return std::nullopt;
  Format format = *matrix.format();
  using Kind = Geometry::Kind;
  const Kind kind = format.geometry.kind;
  if (kind == Kind::tile || kind == Kind::flattened) return std::nullopt;
  if (kind == Kind::none || kind == Kind::tensor) return with_moved_codes(matrix);
  const bool along_rows = format.geometry.axis == 1 || format.geometry.axis == -1;
  // Spelled as a format spells its default axis: 0 for channels, -1 for groups.
  format.geometry.axis = along_rows ? 0 : kind == Kind::group ? -1 : 1;
  return Tensor::packed(format, {matrix.dim(1), matrix.dim(0)}, matrix.data(), matrix.scales(), matrix.zero_points(),
                        matrix.global());
}

}  // namespace hone
