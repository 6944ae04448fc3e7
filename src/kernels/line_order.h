// Row-major elements brought into the order of a packed format's lines (docs/FORMATS.md, section 3.4), and back: a
// transposition where groups don't lie along the last axis, or channels not along the first.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "formats/format.h"

namespace hone {

class LineOrder {
 public:
  LineOrder(const Format& format, std::span<const int64_t> shape);

  bool is_row_major() const { return rows_ == 1 || columns_ == 1; }
  template <class T>
  void to_lines(std::span<const T> values, std::span<T> lines) const {
    transpose(values.data(), rows_, columns_, lines.data());
  }
  template <class T>
  void from_lines(std::span<const T> lines, std::span<T> values) const {
    transpose(lines.data(), columns_, rows_, values.data());
  }

 private:
  template <class T>
  void transpose(const T* from, int64_t rows, int64_t columns, T* to) const;

  // Matrices of runs of elements that stay together.
  int64_t matrices_ = 1, rows_ = 1, columns_ = 1, run_ = 1;
};

}  // namespace hone
