// tile: a tensor repeated as a whole along its axes.
#include "ops/elements.h"
#include "ops/moves.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"repeats", AttributeKind::shape, false, "how often, for each axis; here or as the second operand"}};

void expect_one_for_each_axis(size_t repeats, size_t rank) {
  if (repeats != rank) fail("repeats has {} values for {} axes", repeats, rank);
}

std::vector<TensorType> infer_tile(const InferArgs& a) {
  const std::optional<Shape> repeats = dims_argument(a, 1, "repeats");
  if (!repeats) {
    if (a.has(1) && a[1].ranked) {
      expect_rank(a[1], 1, 1, "computed_repeats");
      if (a[1].shape[0].is_constant())
        expect_one_for_each_axis(static_cast<size_t>(a[1].shape[0].constant()), a[0].rank());
    }
    return {plain_type(a[0].dtype, Shape(a[0].rank(), Dim::unknown()))};
  }
  expect_one_for_each_axis(repeats->size(), a[0].rank());
  Shape shape = a[0].shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    const Dim& repeat = (*repeats)[i];
    if (repeat.is_constant() && repeat.constant() < 0) fail("repeats holds {}; accepted: 0 or more", repeat.constant());
    shape[i] = shape[i] * repeat;
  }
  return {plain_type(a[0].dtype, shape)};
}

// Axis i of the result is walked as repeats[i] times the axis of x, the first of the two with stride 0.
std::vector<Tensor> eval_tile(const EvalArgs& a) {
  const std::vector<int64_t> sizes = sizes_of(a.results[0]), repeats = integers_argument(a, 1, "repeats"),
                             own = strides_of(a[0].shape());
  expect_one_for_each_axis(repeats.size(), own.size());
  std::vector<int64_t> walked, strides;
  for (size_t i = 0; i < repeats.size(); ++i) {
    walked.insert(walked.end(), {repeats[i], a[0].shape()[i]});
    strides.insert(strides.end(), {0, own[i]});
  }
  return {copy_strided(plain(a[0]), walked, strides).reshaped(sizes)};
}

}  // namespace

extern constinit const OpDef tile_def{.name = "tile",
                                      .doc = "x repeated along each axis, as in NumPy.",
                                      .operands = {"x", computed("computed_repeats")},
                                      .attributes = kAttributes,
                                      .infer = infer_tile,
                                      .eval = eval_tile,
                                      .moves = true,
                                      .move_map = [](const MoveArgs& a) { return std::optional(repeating_move(a)); }};

}  // namespace hone
