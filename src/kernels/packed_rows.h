// Packed weights [N,K] row by row, whatever their format's geometry: codes as they are stored, and the scales and zero
// points of the groups that a row has part in. What lays weights out for a device's kernels reads them so.
#pragma once

#include <cstdint>
#include <span>

#include "formats/packed.h"
#include "ir/tensor.h"

namespace hone {

// One scale for `rows` outputs x `columns` inputs of a matrix; 0: for all of them. `flattened`: for `columns`
// consecutive elements, which may go on in the next row.
struct ScaleGrid {
  int64_t rows = 0, columns = 0;
  bool flattened = false;
};
ScaleGrid scale_grid(const Format& format);

// Gives back the pages of weights that were read from a mapped file.
void drop_source(const Tensor& weights);

class PackedRows {
 public:
  PackedRows(const Tensor& weights, int64_t k);  // the tensor outlives this

  const Format& format() const { return format_; }
  const PlaneView& planes() const { return planes_; }
  const ScaleGrid& grid() const { return grid_; }
  const PackedLayout& layout() const { return layout_; }
  bool across() const { return across_; }  // lines of the format run across the rows
  int64_t first_bit(int64_t row) const;    // of a row's codes in their plane, where lines run along the rows
  void read_codes(int64_t row, std::span<uint8_t> codes) const;  // of up to 8 bits, from the row's first on
  void read_codes(int64_t row, std::span<uint32_t> codes) const;
  // Scale codes of the row's groups, of all levels of one after the other, from the group of its first element on.
  // Groups that the tensor has not are left as they are.
  void read_scales(int64_t row, std::span<uint32_t> codes) const;
  uint32_t zero_point(int64_t row, int64_t group) const;  // of the row's n-th group, as stored

 private:
  struct Groups {
    int64_t first, stride;
  };
  Groups groups_of(int64_t row) const;  // the numbers that a row's groups have in the order of the scales' plane
  int64_t scale_bit(int64_t group) const;
  template <class T>
  void read(int64_t row, std::span<T> codes) const;

  const Format format_;
  const PlaneView planes_;
  const ScaleGrid grid_;
  const PackedLayout layout_;
  const int64_t k_;
  const int levels_, zero_point_bytes_;
  bool across_ = false;
};

}  // namespace hone
