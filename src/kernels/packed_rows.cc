#include "kernels/packed_rows.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/mapped_file.h"
#include "formats/scale.h"
#include "ir/lying_bytes.h"
#include "kernels/code_reader.h"

namespace hone {

ScaleGrid scale_grid(const Format& format) {
  const Geometry& g = format.geometry;
  const bool outputs = g.axis == 0 || g.axis == -2;
  switch (g.kind) {
    case Geometry::Kind::none:
    case Geometry::Kind::tensor:
      return {};
    case Geometry::Kind::channel:
      return outputs ? ScaleGrid{1, 0} : ScaleGrid{0, 1};
    case Geometry::Kind::group:
      return outputs ? ScaleGrid{g.columns, 1} : ScaleGrid{1, g.columns};
    case Geometry::Kind::tile:
      return {g.rows, g.columns};
    case Geometry::Kind::flattened:
      return {.rows = 1, .columns = g.columns, .flattened = true};
  }
  CHECK(false);
}

void drop_source(const Tensor& weights) {
  for (const Buffer* plane : weights.buffers()) drop_pages(bytes_in_file(*plane));
}

PackedRows::PackedRows(const Tensor& weights, int64_t k)
    : format_(*weights.format()),
      planes_(weights.planes()),
      grid_(scale_grid(format_)),
      layout_(packed_layout(format_, weights.shape())),
      k_(k),
      levels_(std::max(1, scales_per_group(format_))),
      zero_point_bytes_(zero_point_bytes(format_)) {
  const Geometry& g = format_.geometry;
  const bool by_output = g.axis == 0 || g.axis == -2;
  across_ = g.kind == Geometry::Kind::channel ? !by_output : g.kind == Geometry::Kind::group && by_output;
}

PackedRows::Groups PackedRows::groups_of(int64_t row) const {
  const int64_t per_line = layout_.groups_per_line;
  switch (format_.geometry.kind) {
    case Geometry::Kind::none:
    case Geometry::Kind::tensor:
      return {0, 0};
    case Geometry::Kind::channel:
      return across_ ? Groups{0, 1} : Groups{row, 0};
    case Geometry::Kind::group:
      return across_ ? Groups{row / grid_.rows, per_line} : Groups{row * per_line, 1};
    case Geometry::Kind::tile:
      return {grid_.rows ? row / grid_.rows * per_line : 0, 1};
    case Geometry::Kind::flattened:
      return {row * k_ / grid_.columns, 1};
  }
  CHECK(false);
}

int64_t PackedRows::scale_bit(int64_t group) const {
  const int64_t per_line = layout_.groups_per_line;
  return group / per_line * layout_.scale_line_bytes * 8 + group % per_line * levels_ * format_.scale.bits;
}

void PackedRows::read_scales(int64_t row, std::span<uint32_t> codes) const {
  const auto [first, stride] = groups_of(row);
  const int64_t left = stride ? (layout_.groups - first + stride - 1) / stride : 1;
  const int64_t count = std::min(std::ssize(codes) / levels_, left);
  const bool together = stride == 1 && first % layout_.groups_per_line + count <= layout_.groups_per_line;
  const int64_t run = together ? count : 1;
  for (int64_t g = 0; g < count; g += run)
    hone::read_codes(planes_.scales, scale_bit(first + g * stride), format_.scale.bits,
                     codes.subspan(static_cast<size_t>(g * levels_), static_cast<size_t>(run * levels_)));
}

uint32_t PackedRows::zero_point(int64_t row, int64_t group) const {
  const auto [first, stride] = groups_of(row);
  uint32_t zero = 0;
  const auto bytes = static_cast<size_t>(zero_point_bytes_);
  std::memcpy(&zero, planes_.zero_points.data() + static_cast<size_t>(first + group * stride) * bytes, bytes);
  return zero;
}

int64_t PackedRows::first_bit(int64_t row) const {
  return layout_.lines == 1 ? row * k_ * format_.element.bits / layout_.code_planes : row * layout_.line_bytes * 8;
}

template <class T>
void PackedRows::read(int64_t row, std::span<T> codes) const {
  const int planes = layout_.code_planes, bits = format_.element.bits / planes;
  const int64_t plane_bits = layout_.padded_lines * layout_.line_bytes * 8;
  if (planes == 1 && !across_) return hone::read_codes(planes_.codes, first_bit(row), bits, codes);
  std::vector<T> part(codes.size());
  std::ranges::fill(codes, 0);
  for (int p = 0; p < planes; ++p) {
    if (!across_) hone::read_codes(planes_.codes, p * plane_bits + first_bit(row), bits, std::span(part));
    for (size_t k = 0; k < part.size() && across_; ++k)
      hone::read_codes(planes_.codes, p * plane_bits + static_cast<int64_t>(k) * layout_.line_bytes * 8 + row * bits,
                       bits, std::span(part).subspan(k, 1));
    for (size_t k = 0; k < part.size(); ++k) codes[k] = static_cast<T>(codes[k] | part[k] << (p * bits));
  }
}

void PackedRows::read_codes(int64_t row, std::span<uint8_t> codes) const { read(row, codes); }
void PackedRows::read_codes(int64_t row, std::span<uint32_t> codes) const { read(row, codes); }

}  // namespace hone
