// How the elements of a row-major tensor map to stored lines, positions and groups (docs/FORMATS.md, section 3.4), and
// how the work on them is divided.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "formats/packed.h"

namespace hone {

// Elements [begin, begin + count) of a stored line; they lie at `offset` of a batch. The first `logical` of them exist
// in the tensor, the rest is padding.
struct Piece {
  int64_t line, begin, count, logical, offset;
};

// A stretch of a batch that belongs to one group.
struct Run {
  int64_t group, begin, count, logical;
};

// Codes [begin, end) of lines [first_line, first_line + lines): work that shares no group with other units, except in
// the geometries none and tensor, whose units all share group 0.
struct Unit {
  int64_t first_line, lines, begin, end;
};

struct Batch {
  int64_t elems = 0;
  std::vector<Piece> pieces;
  std::vector<Run> runs;
};

class BlockTraversal {
 public:
  static constexpr int64_t kBatch = 4096;  // elements: columns of a few values each stay within the L1 and L2 caches

  BlockTraversal(const Format& format, std::span<const int64_t> shape);  // throws E_AXIS

  const PackedLayout& layout() const { return layout_; }
  int64_t elems() const { return elems_; }

  int64_t units() const { return units_; }
  Unit unit(int64_t index) const;
  bool units_share_group() const {
    return geometry_.kind == Geometry::Kind::tensor || geometry_.kind == Geometry::Kind::none;
  }

  // Cuts a unit into batches of at most kBatch stored elements and calls fn(const Batch&) for each, in order. Pieces
  // start at multiples of kBatch in their line, hence on a byte.
  template <class F>
  void for_each_batch(const Unit& unit, F&& fn) const {
    Batch batch;
    for (int64_t line = unit.first_line; line < unit.first_line + unit.lines; ++line)
      for (int64_t begin = unit.begin; begin < unit.end;) {
        const int64_t count = std::min(kBatch, unit.end - begin);
        if (batch.elems + count > kBatch) fn(static_cast<const Batch&>(batch)), clear(batch);
        append(batch, line, begin, count);
        begin += count;
      }
    if (batch.elems > 0) fn(static_cast<const Batch&>(batch));
  }

  static void clear(Batch& batch);
  void append(Batch& batch, int64_t line, int64_t begin, int64_t count) const;

  // Row-major elements to batch order, padding as 0; and back (T: float or uint32_t).
  template <class T>
  void gather(const Batch& batch, std::span<const T> values, T* out) const;
  template <class T>
  void scatter(const Batch& batch, const T* in, std::span<T> values) const;

  int64_t unit_elems() const { return lines_per_unit_ * segment_elems_; }

  // Where the row-major element `index` is stored, and how many that follow it in the tensor follow it in its line too.
  struct Place {
    int64_t line, position, contiguous;
  };
  Place locate(int64_t index) const;

 private:
  // Groups of a given number of elements follow each other along a line.
  bool runs_along_line() const {
    return geometry_.kind == Geometry::Kind::group || geometry_.kind == Geometry::Kind::flattened;
  }
  void set_groups(int64_t elems_along);
  void set_tiles(std::span<const int64_t> shape);
  void divide();
  int64_t logical_line(int64_t line) const;  // of a stored line; -1 for padding
  int64_t source(int64_t logical_line, int64_t position) const;
  template <class F>
  void for_each_stretch(const Piece& piece, F&& fn) const;
  void append_runs(Batch& batch, const Piece& piece) const;

  Geometry geometry_;
  PackedLayout layout_;
  int64_t elems_ = 0;
  // An axis splits the shape into outer x axis x inner.
  int64_t axis_elems_ = 1, inner_ = 1;
  int64_t rows_ = 1, padded_rows_ = 1, tile_rows_ = 1;  // of one matrix, for tiles
  int64_t units_ = 0, segments_ = 0, segment_elems_ = 0, lines_per_unit_ = 0;
};

}  // namespace hone
