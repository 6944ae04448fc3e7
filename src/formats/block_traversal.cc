#include "formats/block_traversal.h"

#include <algorithm>

#include "base/checked.h"
#include "base/multiples.h"
#include "formats/bits.h"
#include "formats/scale.h"

namespace hone {
namespace {

constexpr int64_t kSegment = 1 << 16;  // elements of a long line that one unit takes
// Of codes up to 32 bits, or of 32 scales of 32 bits in a group of one element.
constexpr int64_t kMostBitsPerElement = 32 * 32;

int64_t product(std::span<const int64_t> dims) { return checked_product(dims); }

[[noreturn]] void fail_axis(const Format& format, const std::string& message) {
  const std::string text = to_string(format);
  const size_t dot = text.find(".ax") != std::string::npos ? text.find(".ax") : text.find('.');
  throw FormatError("E_AXIS", text, dot == std::string::npos ? 0 : dot + 1, message);
}

size_t axis_of(const Format& format, size_t rank) {
  const int axis = format.geometry.axis, n = static_cast<int>(rank);
  if (axis < -n || axis >= n)
    fail_axis(format,
              fmt::format("axis {} does not exist in a tensor of rank {}; it has axes {}..{}", axis, n, -n, n - 1));
  return static_cast<size_t>(axis < 0 ? axis + n : axis);
}

}  // namespace

BlockTraversal::BlockTraversal(const Format& format, std::span<const int64_t> shape) : geometry_(format.geometry) {
  static constexpr int64_t kScalar[] = {1};
  if (shape.empty()) shape = kScalar;
  elems_ = product(shape);
  using Kind = Geometry::Kind;
  if (geometry_.kind == Kind::channel || geometry_.kind == Kind::group) {
    const size_t axis = axis_of(format, shape.size());
    axis_elems_ = shape[axis];
    inner_ = product(shape.subspan(axis + 1));
  }
  if (geometry_.kind == Kind::tile && shape.size() < 2)
    fail_axis(format, "tiles need a tensor of rank 2 or more; use g<N> for groups along one axis");
  if (elems_ == 0) return;
  PackedLayout& p = layout_;
  switch (geometry_.kind) {
    case Kind::none:
    case Kind::tensor:
    case Kind::flattened:
      p.lines = 1;
      break;
    case Kind::channel:
      p.lines = axis_elems_;
      break;
    case Kind::group:
      p.lines = elems_ / axis_elems_;
      break;
    case Kind::tile:
      p.lines = elems_ / shape.back();
      break;
  }
  p.line_elems = p.padded_elems = elems_ / p.lines;
  p.padded_lines = p.lines;
  if (geometry_.kind == Kind::none) p.groups = 0;
  else if (geometry_.kind == Kind::tile) set_tiles(shape);
  else set_groups(runs_along_line() ? geometry_.columns : p.line_elems);
  checked_mul(checked_mul(p.padded_lines, p.padded_elems), kMostBitsPerElement);  // no plane has more bits
  if (is_residual(format)) p.code_planes = format.element.bits;
  p.line_bytes = stream_bytes(p.padded_elems, format.element.bits / p.code_planes);
  p.scale_line_bytes = stream_bytes(p.groups_per_line * scales_per_group(format), format.scale.bits);
  if (is_two_level(format)) {
    p.groups_per_super = kSuperBlock / geometry_.columns;
    p.supers_per_line = ceil_div(p.groups_per_line, p.groups_per_super);
  }
  divide();
}

void BlockTraversal::set_groups(int64_t elems_along) {
  PackedLayout& p = layout_;
  p.group_elems = elems_along;
  p.groups_per_line = ceil_div(p.line_elems, elems_along);
  p.padded_elems = checked_mul(p.groups_per_line, elems_along);
  p.groups = checked_mul(p.lines, p.groups_per_line);
  p.scale_lines = p.lines;
}

void BlockTraversal::set_tiles(std::span<const int64_t> shape) {
  PackedLayout& p = layout_;
  rows_ = shape[shape.size() - 2];
  tile_rows_ = geometry_.rows == 0 ? rows_ : geometry_.rows;
  set_groups(geometry_.columns == 0 ? p.line_elems : geometry_.columns);
  p.group_elems = checked_mul(p.group_elems, tile_rows_);
  padded_rows_ = round_up(rows_, tile_rows_);
  const int64_t matrices = p.lines / rows_;
  p.padded_lines = checked_mul(matrices, padded_rows_);
  p.scale_lines = p.padded_lines / tile_rows_;
  p.groups = p.scale_lines * p.groups_per_line;
}

// Long lines are cut into segments of whole groups; short ones are taken together until a batch is full.
void BlockTraversal::divide() {
  using Kind = Geometry::Kind;
  const PackedLayout& p = layout_;
  segments_ = 1;
  segment_elems_ = p.padded_elems;
  if (geometry_.kind == Kind::tile) {
    lines_per_unit_ = tile_rows_;
  } else if (geometry_.kind == Kind::channel) {
    lines_per_unit_ = std::max<int64_t>(1, kBatch / p.padded_elems);
  } else {
    // A multiple of the group and of 8 codes, so that a segment starts on a byte.
    const int64_t group = runs_along_line() ? geometry_.columns : 1;
    const int64_t segment = round_up(kSegment, 8 * group);
    segments_ = ceil_div(p.padded_elems, segment);
    if (segments_ > 1) segment_elems_ = segment;
    lines_per_unit_ = segments_ > 1 ? 1 : std::max<int64_t>(1, kBatch / p.padded_elems);
  }
  units_ = ceil_div(p.padded_lines, lines_per_unit_) * segments_;
}

Unit BlockTraversal::unit(int64_t index) const {
  const int64_t first = index / segments_ * lines_per_unit_, begin = index % segments_ * segment_elems_;
  return {first, std::min(lines_per_unit_, layout_.padded_lines - first), begin,
          std::min(begin + segment_elems_, layout_.padded_elems)};
}

int64_t BlockTraversal::logical_line(int64_t line) const {
  if (geometry_.kind != Geometry::Kind::tile) return line;
  const int64_t row = line % padded_rows_;
  return row < rows_ ? line / padded_rows_ * rows_ + row : -1;
}

int64_t BlockTraversal::source(int64_t line, int64_t position) const {
  switch (geometry_.kind) {
    case Geometry::Kind::channel:
      return (position / inner_ * axis_elems_ + line) * inner_ + position % inner_;
    case Geometry::Kind::group:
      return (line / inner_ * axis_elems_ + position) * inner_ + line % inner_;
    default:
      return line * layout_.line_elems + position;
  }
}

void BlockTraversal::clear(Batch& batch) {
  batch.elems = 0;
  batch.pieces.clear();
  batch.runs.clear();
}

void BlockTraversal::append(Batch& batch, int64_t line, int64_t begin, int64_t count) const {
  const bool exists = logical_line(line) >= 0;
  const int64_t logical = exists ? std::clamp<int64_t>(layout_.line_elems - begin, 0, count) : 0;
  batch.pieces.push_back({line, begin, count, logical, batch.elems});
  if (layout_.groups > 0) append_runs(batch, batch.pieces.back());
  else batch.runs.push_back({0, batch.elems, count, logical});
  batch.elems += count;
}

void BlockTraversal::append_runs(Batch& batch, const Piece& piece) const {
  const int64_t along = geometry_.kind == Geometry::Kind::tile || runs_along_line()
                            ? layout_.padded_elems / layout_.groups_per_line
                            : layout_.line_elems;
  const int64_t scale_line = geometry_.kind == Geometry::Kind::tile ? piece.line / tile_rows_ : piece.line;
  for (int64_t done = 0; done < piece.count;) {
    const int64_t position = piece.begin + done, in_line = position / along;
    const int64_t count = std::min(piece.count - done, (in_line + 1) * along - position);
    batch.runs.push_back({scale_line * layout_.groups_per_line + in_line, piece.offset + done, count,
                          std::clamp<int64_t>(piece.logical - done, 0, count)});
    done += count;
  }
}

// fn(first, source, count, stride): elements [first, first + count) of the piece lie at source, source + stride, ...
template <class F>
void BlockTraversal::for_each_stretch(const Piece& piece, F&& fn) const {
  const int64_t line = logical_line(piece.line);
  const bool is_channel = geometry_.kind == Geometry::Kind::channel;
  const int64_t stride = geometry_.kind == Geometry::Kind::group ? inner_ : 1;
  for (int64_t first = 0; first < piece.logical;) {
    const int64_t position = piece.begin + first, left = piece.logical - first;
    const int64_t count = is_channel ? std::min(inner_ - position % inner_, left) : left;
    fn(first, source(line, position), count, stride);
    first += count;
  }
}

template <class T>
void BlockTraversal::gather(const Batch& batch, std::span<const T> values, T* out) const {
  for (const Piece& piece : batch.pieces) {
    T* const to = out + piece.offset;
    for_each_stretch(piece, [&](int64_t first, int64_t source, int64_t count, int64_t stride) {
      const T* from = values.data() + source;
      if (stride == 1) std::copy_n(from, count, to + first);
      else
        for (int64_t i = 0; i < count; ++i) to[first + i] = from[i * stride];
    });
    std::fill(to + piece.logical, to + piece.count, T{0});
  }
}

template <class T>
void BlockTraversal::scatter(const Batch& batch, const T* in, std::span<T> values) const {
  for (const Piece& piece : batch.pieces)
    for_each_stretch(piece, [&](int64_t first, int64_t source, int64_t count, int64_t stride) {
      T* to = values.data() + source;
      const T* from = in + piece.offset + first;
      if (stride == 1) std::copy_n(from, count, to);
      else
        for (int64_t i = 0; i < count; ++i) to[i * stride] = from[i];
    });
}

template void BlockTraversal::gather(const Batch&, std::span<const float>, float*) const;
template void BlockTraversal::gather(const Batch&, std::span<const uint32_t>, uint32_t*) const;
template void BlockTraversal::scatter(const Batch&, const float*, std::span<float>) const;
template void BlockTraversal::scatter(const Batch&, const uint32_t*, std::span<uint32_t>) const;

BlockTraversal::Place BlockTraversal::locate(int64_t index) const {
  using Kind = Geometry::Kind;
  const int64_t line_elems = layout_.line_elems;
  if (geometry_.kind == Kind::none || geometry_.kind == Kind::tensor || geometry_.kind == Kind::flattened)
    return {0, index, elems_ - index};
  if (geometry_.kind == Kind::tile) {
    const int64_t line = index / line_elems, position = index % line_elems;
    return {line / rows_ * padded_rows_ + line % rows_, position, line_elems - position};
  }
  const int64_t inner = index % inner_, along = index / inner_ % axis_elems_, outer = index / inner_ / axis_elems_;
  if (geometry_.kind == Kind::channel) return {along, outer * inner_ + inner, inner_ - inner};
  return {outer * inner_ + inner, along, inner_ == 1 ? axis_elems_ - along : 1};
}

}  // namespace hone
