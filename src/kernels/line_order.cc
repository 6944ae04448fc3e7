#include "kernels/line_order.h"

#include <algorithm>

#include "base/multiples.h"
#include "base/threads.h"

namespace hone {

LineOrder::LineOrder(const Format& format, std::span<const int64_t> shape) {
  const Geometry& g = format.geometry;
  const bool channel = g.kind == Geometry::Kind::channel;
  if (shape.empty() || (!channel && g.kind != Geometry::Kind::group)) return;
  const auto axis = static_cast<size_t>(g.axis < 0 ? g.axis + std::ssize(shape) : g.axis);
  int64_t outer = 1, inner = 1;
  for (size_t a = 0; a < axis; ++a) outer *= shape[a];
  for (size_t a = axis + 1; a < shape.size(); ++a) inner *= shape[a];
  if (channel) rows_ = outer, columns_ = shape[axis], run_ = inner;
  else matrices_ = outer, rows_ = shape[axis], columns_ = inner;
}

// In squares, so that lines of the cache are used whole on both sides.
template <class T>
void LineOrder::transpose(const T* from, int64_t rows, int64_t columns, T* to) const {
  constexpr int64_t kSquare = 32;
  const int64_t bands = ceil_div(rows, kSquare);
  parallel_for(matrices_ * bands, [&](int64_t item) {
    const int64_t matrix = item / bands * rows * columns * run_, first = item % bands * kSquare;
    const int64_t last = std::min(rows, first + kSquare);
    for (int64_t left = 0; left < columns; left += kSquare)
      for (int64_t r = first; r < last; ++r)
        for (int64_t c = left; c < std::min(columns, left + kSquare); ++c)
          std::copy_n(from + matrix + (r * columns + c) * run_, run_, to + matrix + (c * rows + r) * run_);
  });
}

template void LineOrder::transpose(const float*, int64_t, int64_t, float*) const;
template void LineOrder::transpose(const uint16_t*, int64_t, int64_t, uint16_t*) const;

}  // namespace hone
