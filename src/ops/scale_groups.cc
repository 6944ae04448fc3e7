#include "ops/scale_groups.h"

#include "base/error.h"

namespace hone {

std::vector<int64_t> group_extents(const Format& format, size_t rank) {
  const Geometry& geometry = format.geometry;
  using Kind = Geometry::Kind;
  if (geometry.kind == Kind::none || geometry.kind == Kind::tensor) return {};
  const auto n = static_cast<int64_t>(rank);
  if (geometry.kind == Kind::tile) {
    if (n < 2) fail("{} has tiles, and x is of rank {}; at least 2 is needed", to_string(format), n);
    std::vector<int64_t> extents(rank, 1);
    extents[rank - 2] = geometry.rows, extents[rank - 1] = geometry.columns;
    return extents;
  }
  const int64_t axis = geometry.axis < 0 ? geometry.axis + n : geometry.axis;
  if (axis < 0 || axis >= n)
    fail("{} has groups along axis {}, and x is of rank {}", to_string(format), geometry.axis, n);
  const bool is_channel = geometry.kind == Kind::channel;
  std::vector<int64_t> extents(rank, is_channel ? 0 : 1);
  extents[static_cast<size_t>(axis)] = is_channel ? 1 : geometry.columns;
  return extents;
}

Shape scale_shape(const Format& format, const Shape& x) {
  const std::vector<int64_t> extents = group_extents(format, x.size());
  Shape shape;
  for (size_t i = 0; i < extents.size(); ++i)
    shape.push_back(extents[i] == 0 ? Dim(1) : extents[i] == 1 ? x[i] : floordiv(x[i] + (extents[i] - 1), extents[i]));
  return shape;
}

namespace {

// fn(number of the element, number of its group), both row-major.
template <class F>
void for_each_element(const Format& format, std::span<const int64_t> x, F&& fn) {
  const std::vector<int64_t> extents = group_extents(format, x.size()),
                             groups = constant_shape(scale_shape(format, to_shape(x)));
  const int64_t elements = element_count(x);
  std::vector<int64_t> at(x.size());
  for (int64_t element = 0; element < elements; ++element) {
    int64_t group = 0;
    for (size_t i = 0; i < extents.size(); ++i) group = group * groups[i] + (extents[i] == 0 ? 0 : at[i] / extents[i]);
    fn(static_cast<size_t>(element), static_cast<size_t>(group));
    for (size_t i = x.size(); i-- > 0 && ++at[i] == x[i];) at[i] = 0;
  }
}

}  // namespace

std::vector<float> spread_over_groups(const Format& format, std::span<const int64_t> x, std::span<const float> groups) {
  std::vector<float> elements(static_cast<size_t>(element_count(x)));
  for_each_element(format, x, [&](size_t element, size_t group) { elements[element] = groups[group]; });
  return elements;
}

std::vector<float> gathered_to_groups(const Format& format, std::span<const int64_t> x,
                                      std::span<const float> elements) {
  std::vector<float> groups(static_cast<size_t>(element_count(constant_shape(scale_shape(format, to_shape(x))))));
  for_each_element(format, x, [&](size_t element, size_t group) { groups[group] = elements[element]; });
  return groups;
}

}  // namespace hone
