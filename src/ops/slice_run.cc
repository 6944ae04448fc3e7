#include "ops/slice_run.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "ir/unbacked.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr int64_t kBeyond = std::numeric_limits<int32_t>::max();

// As an end these two are no position, as None in Python: a walk goes on to the last element it comes to, backward too.
bool is_no_end(const Dim& end) {
  return end.is_constant() && (end.constant() == kBeyond || end.constant() == std::numeric_limits<int64_t>::max());
}

bool is_never_negative(const Dim& dim) { return dim.least().value_or(-1) >= 0; }

bool is_negative(const Dim& dim) { return (Dim(0) - dim).least().value_or(0) > 0; }

// `bound` of an axis that is walked forward, between 0 and `most`.
std::optional<Dim> clamped(const Dim& bound, const Dim& most, bool assume_inside) {
  if (is_negative(bound)) return Dim(0);
  if (is_negative(most - bound)) return most;
  if (is_never_negative(bound) && is_never_negative(most - bound)) return bound;
  if (assume_inside && !depends_on_data(bound) && !depends_on_data(most)) return bound;
  return std::nullopt;
}

// The first position of a backward walk, seen from its end, in [0, length - 1]: a start before the axis is its first
// element. Whether a symbolic axis has one shows when it runs.
std::optional<Dim> clamped_start(const Dim& start, const Dim& length) {
  if (length.is_constant()) return clamped(start, std::max<int64_t>(length.constant() - 1, 0), false);
  if (start == Dim(0)) return start;
  if (is_negative(length - 1 - start)) return std::nullopt;
  return clamped(start, length - 1, false);
}

}  // namespace

std::optional<SliceRun> slice_run(const Dim& start, const Dim& end, int64_t step, const Dim& length) {
  if (step == 0) fail("the step of a slice is 0; accepted: any other");
  const bool backward = step < 0;
  // Seen from the end of a backward walk, the axis is walked forward too: position p is length - 1 - p.
  const auto forward_bound = [&](const Dim& bound) -> Dim {
    if (bound.is_constant() && bound.constant() >= kBeyond) return backward ? Dim(0) : length;
    if (bound.is_constant() && bound.constant() <= -kBeyond) return backward ? length : Dim(0);
    const Dim from_front = is_negative(bound) ? bound + length : bound;
    return backward ? length - 1 - from_front : from_front;
  };
  const bool constant_start = start.is_constant() && start.constant() >= 0;
  const auto first = backward ? clamped_start(forward_bound(start), length)
                              : clamped(forward_bound(start), length, constant_start || length.is_constant());
  const auto last = clamped(is_no_end(end) ? length : forward_bound(end), length, !backward && length.is_constant());
  if (!first || !last) return std::nullopt;
  const Dim span = is_negative(*last - *first) ? Dim(0) : *last - *first;
  const Dim from = backward ? length - 1 - *first : *first, to = backward ? from - span : from + span;
  const int64_t stride = std::clamp(step, -kBeyond, kBeyond);  // longer ones reach no second position either
  return SliceRun{from, to, stride, floordiv(span + std::abs(stride) - 1, std::abs(stride))};
}

std::optional<std::vector<Move>> slice_moves(const MoveArgs& a, std::vector<int64_t> steps) {
  if (!a.are_known) return std::nullopt;
  const EvalArgs& given = a.given;
  const std::vector<int64_t>& shape = a.shapes[0];
  const std::vector<int64_t> starts = integers_argument(given, 1, "starts"), ends = integers_argument(given, 2, "ends");
  std::vector<int64_t> axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (given.attributes.has("axes") || given.has(3)) axes = axes_argument(given, 3);
  steps.resize(starts.size(), 1);
  const std::vector<size_t> checked = checked_axes(axes, shape.size());
  std::vector<Stretches> result = whole_axes(shape);
  for (size_t i = 0; i < checked.size(); ++i) {
    const SliceRun run = slice_run(starts[i], ends[i], steps[i], shape[checked[i]]).value();
    result[checked[i]] = {{run.start.constant(), run.count.constant(), run.step}};
  }
  return one_move(std::move(result));
}

}  // namespace hone
