#include "passes/packed_transpose.h"

#include "formats/bits.h"

namespace hone {
namespace {

// One group, or none: one line of codes, which change places.
Tensor with_moved_codes(const Tensor& matrix) {
  const auto rows = static_cast<size_t>(matrix.dim(0)), columns = static_cast<size_t>(matrix.dim(1));
  const Format& format = *matrix.format();
  const std::vector<uint32_t> codes = codes_of(format, matrix.shape(), matrix.planes());
  std::vector<uint32_t> moved(codes.size());
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j) moved[j * rows + i] = codes[i * columns + j];
  Buffer plane(matrix.data().size());
  write_codes(plane.mutable_bytes().data(), format.element.bits, moved);
  return Tensor::packed(format, {matrix.dim(1), matrix.dim(0)}, plane, matrix.scales(), matrix.zero_points(),
                        matrix.global());
}

}  // namespace

std::optional<Tensor> packed_transpose(const Tensor& matrix) {
  if (!matrix.is_packed() || matrix.shape().size() != 2) return std::nullopt;
  Format format = *matrix.format();
  using Kind = Geometry::Kind;
  const Kind kind = format.geometry.kind;
  if (kind == Kind::tile) return std::nullopt;
  if (kind == Kind::none || kind == Kind::tensor) return with_moved_codes(matrix);
  const bool along_rows = format.geometry.axis == 1 || format.geometry.axis == -1;
  // Spelled as a format spells its default axis: 0 for channels, -1 for groups.
  format.geometry.axis = along_rows ? 0 : kind == Kind::group ? -1 : 1;
  return Tensor::packed(format, {matrix.dim(1), matrix.dim(0)}, matrix.data(), matrix.scales(), matrix.zero_points(),
                        matrix.global());
}

}  // namespace hone
