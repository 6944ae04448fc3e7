#include "ops/transposed.h"

#include <algorithm>
#include <numeric>

#include "ir/unbacked.h"
#include "ops/rules.h"

namespace hone {

extern const OpDef reshape_def;

namespace {

using Axes = std::vector<int64_t>;

// Every operand broadcasts to the result, whose axes are those of the operands.
std::optional<Transposed> pointwise(const TransposeArgs& a) {
  if (a.result.rank() != a.perm.size()) return std::nullopt;
  return Transposed{&a.op, a.attributes, a.perm};
}

// Axes of x that a view keeps together, and what it makes of them: one axis of one, one of several or several of one.
struct Group {
  std::vector<size_t> from, to;
};

// How many dimensions from `first` on multiply to `whole`, 0 when none do.
size_t factors(const Shape& shape, size_t first, const Dim& whole) {
  Dim product = 1;
  for (size_t i = first; i < shape.size(); ++i) {
    product = product * shape[i];
    if (product == whole) return i - first + 1;
  }
  return 0;
}

std::optional<std::vector<Group>> groups_of(const Shape& x, const Shape& y) {
  std::vector<Group> groups;
  std::vector<size_t> added;  // axes of length 1, which go with what follows them
  const auto is_one = [](const Shape& shape, size_t axis) { return axis < shape.size() && shape[axis] == Dim(1); };
  for (size_t i = 0, j = 0; i < x.size() || j < y.size();) {
    if (is_one(x, i) && !is_one(y, j)) ++i;
    else if (is_one(y, j) && !is_one(x, i)) added.push_back(j++);
    else if (i == x.size() || j == y.size()) return std::nullopt;
    else {
      const size_t merged = factors(x, i, y[j]), cut = merged ? 1 : factors(y, j, x[i]);
      if (cut == 0) return std::nullopt;
      Group group{{}, std::move(added)};
      added.clear();
      for (size_t k = 0; k < std::max<size_t>(merged, 1); ++k) group.from.push_back(i++);
      for (size_t k = 0; k < cut; ++k) group.to.push_back(j++);
      groups.push_back(std::move(group));
    }
  }
  if (!added.empty() && groups.empty()) return std::nullopt;
  if (!added.empty()) groups.back().to.insert(groups.back().to.end(), added.begin(), added.end());
  return groups;
}

// A view works on s as well when the axes that it joins follow each other there.
std::optional<Transposed> viewed(const TransposeArgs& a) {
  const Shape &x = a[0].shape, &y = a.result.shape;
  if (!a.result.ranked || depends_on_data(y)) return std::nullopt;
  std::optional<std::vector<Group>> groups = groups_of(x, y);
  if (!groups) return std::nullopt;
  const auto place = [&](size_t axis) { return a.perm[axis]; };
  for (const Group& group : *groups)
    for (size_t k = 1; k < group.from.size(); ++k)
      if (place(group.from[k]) != place(group.from[k - 1]) + 1) return std::nullopt;
  std::sort(groups->begin(), groups->end(),
            [&](const Group& a, const Group& b) { return place(a.from[0]) < place(b.from[0]); });
  Permutation order;  // axes of y as they lie in the view of s
  for (const Group& group : *groups) order.insert(order.end(), group.to.begin(), group.to.end());
  return Transposed{&reshape_def, {{"shape", permuted(y, order)}}, inverse(order)};
}

}  // namespace

std::vector<int64_t> moved_axes(const std::vector<int64_t>& axes, const Permutation& perm) {
  Axes result;
  for (size_t axis : checked_axes(axes, perm.size())) result.push_back(perm[axis]);
  return result;
}

Permutation without(const Permutation& perm, const std::vector<int64_t>& gone) {
  Permutation result;
  for (int64_t axis : perm)
    if (std::find(gone.begin(), gone.end(), axis) == gone.end())
      result.push_back(axis - std::count_if(gone.begin(), gone.end(), [&](int64_t g) { return g < axis; }));
  return result;
}

std::optional<Transposed> transposed_along_axis(const TransposeArgs& a) {
  Transposed other{&a.op, a.attributes, a.perm};
  const size_t axis = checked_axis(a.attributes.get_or<int64_t>("axis", 0), a.perm.size());
  other.attributes.set("axis", a.perm[axis]);
  return other;
}

// Kernels normalise along the last axis.
std::optional<Transposed> transposed_along_row(const TransposeArgs& a) {
  Transposed other{&a.op, a.attributes, a.perm};
  const size_t last = a.perm.size() - 1, axis = checked_axis(a.attributes.get_or<int64_t>("axis", -1), a.perm.size());
  if (axis == last && a.perm[axis] != static_cast<int64_t>(last)) return std::nullopt;
  other.attributes.set("axis", a.perm[axis]);
  return other;
}

// Lists speak of `axes`: by default of the first ones where `starts` says how many, else of all.
std::optional<Transposed> transposed_on_axes(const TransposeArgs& a) {
  for (size_t i = 1; i < a.operands.size(); ++i)
    if (a.operands[i] && std::string_view(a.op.operands.of(i).name) == "computed_axes") return std::nullopt;
  const bool by_starts = a.attributes.has("starts");
  Axes axes(by_starts ? a.attributes.get<Shape>("starts").size() : a.perm.size());
  std::iota(axes.begin(), axes.end(), 0);
  Transposed other{&a.op, a.attributes, a.perm};
  other.attributes.set("axes", moved_axes(a.attributes.get_or<Axes>("axes", axes), a.perm));
  return other;
}

bool has_transposed(const OpDef& op) { return op.pointwise || op.view || op.transposed; }

size_t transposed_operands(const OpDef& op, size_t operands) {
  return op.pointwise || op.operands.of(0).repeats() ? operands : std::min<size_t>(operands, 1);
}

std::optional<Transposed> transposed(const TransposeArgs& a) {
  if (a.op.transposed) return a.op.transposed(a);
  return a.op.pointwise ? pointwise(a) : a.op.view ? viewed(a) : std::nullopt;
}

}  // namespace hone
