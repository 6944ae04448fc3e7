#include "ops/moves.h"

#include <algorithm>

namespace hone {
namespace {

// The pattern that `reads` starts with, which has the border's value everywhere or nowhere.
Stretch first_stretch(std::span<const int64_t> reads) {
  Stretch s{.from = reads[0], .step = 0, .value = reads[0] < 0};
  const auto end = std::ranges::find_if(reads, [&](int64_t read) { return (read < 0) != s.value; });
  const int64_t size = end - reads.begin();
  const auto read = [&](int64_t i) { return reads[static_cast<size_t>(i)]; };
  if (size > 1) s.step = read(1) - s.from;
  while (s.count < size && read(s.count) == s.from + s.count * s.step) ++s.count;
  if (s.count == size) return s;
  s.jump = read(s.count) - s.from;
  const auto repeats = [&](int64_t i) {
    for (int64_t j = 0; j < s.count; ++j)
      if (read(i * s.count + j) != s.from + i * s.jump + j * s.step) return false;
    return true;
  };
  while ((s.repeats + 1) * s.count <= size && repeats(s.repeats)) ++s.repeats;
  return s;
}

}  // namespace

Stretches stretches(std::span<const int64_t> reads) {
  Stretches result;
  while (!reads.empty()) {
    result.push_back(first_stretch(reads));
    reads = reads.subspan(static_cast<size_t>(result.back().length()));
  }
  return result;
}

std::vector<Stretches> whole_axes(const std::vector<int64_t>& shape) {
  std::vector<Stretches> axes;
  for (int64_t length : shape) axes.push_back({{.count = length}});
  return axes;
}

std::vector<Move> one_move(std::vector<Stretches> axes) {
  const size_t rank = axes.size();
  return {{.axes = std::move(axes), .start = std::vector<int64_t>(rank, 0)}};
}

std::vector<Move> repeating_move(const MoveArgs& a) {
  const std::vector<int64_t> result = a.result_shape(0);
  std::vector<int64_t> shape = a.shapes[0];
  shape.insert(shape.begin(), result.size() - shape.size(), 1);
  std::vector<Stretches> axes;
  for (size_t i = 0; i < result.size(); ++i) axes.push_back({{.count = shape[i], .repeats = result[i] / shape[i]}});
  return one_move(std::move(axes));
}

}  // namespace hone
