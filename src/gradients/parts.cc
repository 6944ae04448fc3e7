// Parts of tensors: slices, and what tensors are put together from. The gradient of a part is padded with zeros, that
// of a whole is cut.
#include "base/error.h"
#include "gradients/gradient.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/center_crop_pad.h"
#include "ops/calls/concat.h"
#include "ops/calls/full.h"
#include "ops/calls/gather_gradient.h"
#include "ops/calls/pad.h"
#include "ops/calls/reduce.h"
#include "ops/calls/slice.h"
#include "ops/calls/split.h"
#include "ops/calls/strided_slice.h"
#include "ops/rules.h"
#include "ops/slice_run.h"

namespace hone {
namespace {

// Positions start, start + step, … of `axis`, from which `d` was read, in zeros of an axis of `length`.
ValueId put_back(Graph& g, ValueId d, size_t axis, const Dim& start, int64_t step, const Dim& length) {
  Shape shape = g.type(d).shape;
  const Dim count = shape[axis];
  if (start == Dim(0) && step == 1 && count == length) return d;
  const auto at = static_cast<int64_t>(axis);
  if (step == 1) {
    const Shape pads{start, length - start - count};
    return ops::pad(g, {.x = d, .pads = pads, .axes = std::vector{at}});
  }
  if (!start.is_constant()) fail("steps of {} from a position that is not known before a run", step);
  shape[axis] = length;
  const ValueId numbers = ops::iota(g, {.shape = Shape{count}});
  const ValueId steps = ops::mul(g, {numbers, g.add_scalar<int64_t>(step)});
  const ValueId positions = ops::add(g, {steps, g.add_scalar<int64_t>(start.constant())});
  return ops::gather_gradient(g, {.d = d, .indices = positions, .shape = shape, .axis = at});
}

std::vector<ValueId> slice_gradient(const GradientArgs& a) {
  const Attributes& attributes = a.op().attributes;
  const Shape &starts = attributes.get<Shape>("starts"), &x = a.type(0).shape;
  std::vector<int64_t> axes = attributes.get_or<std::vector<int64_t>>("axes", {});
  for (size_t i = 0; !attributes.has("axes") && i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  const std::vector<int64_t> steps =
      attributes.get_or<std::vector<int64_t>>("steps", std::vector<int64_t>(starts.size(), 1));
  const std::vector<size_t> checked = checked_axes(axes, x.size());
  ValueId d = a.d_results[0];
  for (size_t i = 0; i < checked.size(); ++i) {
    const Dim& length = x[checked[i]];
    const bool from_end = starts[i].is_constant() && starts[i].constant() < 0;
    d = put_back(a.graph, d, checked[i], from_end ? starts[i] + length : starts[i], steps[i], length);
  }
  return {d};
}

// Of bounds that are attributes or constants.
std::vector<ValueId> strided_slice_gradient(const GradientArgs& a) {
  const KnownArguments known(a);
  const InferArgs args = known.infer();
  const Shape& x = a.type(0).shape;
  const std::optional<std::vector<int64_t>> listed = axes_argument(args, 3);
  const std::optional<Shape> starts = dims_argument(args, 1, "starts"), ends = dims_argument(args, 2, "ends");
  const bool has_steps = args.has(4) || args.attributes.has("steps");
  const std::optional<Shape> steps = has_steps ? dims_argument(args, 4, "steps")
                                     : starts  ? std::optional(Shape(starts->size(), Dim(1)))
                                               : std::nullopt;
  if (!listed || !starts || !ends || !steps)
    fail("its bounds are computed while it runs; accepted: attributes or constants");
  const std::vector<size_t> axes = checked_axes(*listed, x.size());
  ValueId d = a.d_results[0];
  for (size_t i = 0; i < axes.size(); ++i) {
    const std::optional<SliceRun> run = slice_run((*starts)[i], (*ends)[i], (*steps)[i].constant(), x[axes[i]]);
    if (!run)
      fail("whether {} to {} lie in axis {}, of {}, is not known before a run", (*starts)[i].to_string(),
           (*ends)[i].to_string(), axes[i], x[axes[i]].to_string());
    d = put_back(a.graph, d, axes[i], run->start, run->step, x[axes[i]]);
  }
  return {d};
}

std::vector<ValueId> split_gradient(const GradientArgs& a) {
  std::vector<ValueId> parts;
  for (size_t i = 0; i < a.d_results.size(); ++i)
    parts.push_back(a.d_results[i] != kNone
                        ? a.d_results[i]
                        : zeros(a.graph, gradient_dtype(a.type(0).dtype), a.graph.type(a.result(i)).shape));
  return {ops::concat(a.graph, {.inputs = parts, .axis = a.op().attributes.get_or<int64_t>("axis", 0)})};
}

std::vector<ValueId> concat_gradient(const GradientArgs& a) {
  const auto axis = a.op().attributes.get<int64_t>("axis");
  const size_t at = checked_axis(axis, a.type(0).rank());
  std::vector<ValueId> gradients;
  Dim start = 0;
  for (size_t i = 0; i < a.op().operands.size(); ++i) {
    const Dim end = start + a.type(i).shape[at];
    gradients.push_back(a.wants(i) ? ops::slice(a.graph, {.x = a.d_results[0],
                                                          .starts = Shape{start},
                                                          .ends = Shape{end},
                                                          .axes = std::vector{static_cast<int64_t>(at)}})
                                   : kNone);
    start = end;
  }
  return gradients;
}

// Where each position of a padded axis was read, by padding the positions themselves.
ValueId read_positions(Graph& g, const Dim& length, const Dim& before, const Dim& after, const std::string& mode) {
  const ValueId numbers = ops::iota(g, {.shape = Shape{length}});
  return ops::pad(g, {.x = numbers, .pads = Shape{before, after}, .mode = mode});
}

std::vector<ValueId> pad_gradient(const GradientArgs& a) {
  Graph& g = a.graph;
  const KnownArguments known(a);
  const InferArgs args = known.infer();
  const Shape& x = a.type(0).shape;
  const std::optional<Shape> pads = dims_argument(args, 2, "pads");
  std::optional<std::vector<int64_t>> listed;
  if (args.has(3) || args.attributes.has("axes")) listed = axes_argument(args, 3);
  if (!pads || (!listed && (args.has(3) || args.attributes.has("axes"))))
    fail("its pads are computed while it runs; accepted: attributes or constants");
  std::vector<size_t> axes;
  if (listed) axes = checked_axes(*listed, x.size());
  for (size_t i = 0; !listed && i < x.size(); ++i) axes.push_back(i);
  const std::string mode = args.attributes.get_or<std::string>("mode", "constant");
  ValueId d = a.d_results[0];
  if (mode == "constant") {  // cut what was added, add what was cut
    Shape back;
    std::vector<int64_t> back_axes(axes.begin(), axes.end());
    for (const Dim& pad : *pads) back.push_back(Dim(0) - pad);
    d = ops::pad(g, {.x = d, .pads = back, .axes = back_axes});
    std::vector<ValueId> gradients{d};
    if (a.wants(1)) {
      const auto total = [&](ValueId v) { return ops::reduce_sum(g, {.x = v, .keepdims = 0}); };
      gradients.push_back(ops::sub(g, {total(a.d_results[0]), total(d)}));
    }
    return gradients;
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    Shape shape = g.type(d).shape;
    shape[axes[i]] = x[axes[i]];
    const ValueId read = read_positions(g, x[axes[i]], (*pads)[i], (*pads)[i + axes.size()], mode);
    d = ops::gather_gradient(g, {.d = d, .indices = read, .shape = shape, .axis = static_cast<int64_t>(axes[i])});
  }
  return {d};
}

// The middle put back, or cut out again.
std::vector<ValueId> center_crop_pad_gradient(const GradientArgs& a) {
  const Shape &x = a.type(0).shape, &y = a.graph.type(a.result()).shape;
  Shape before, after;
  for (size_t i = 0; i < x.size(); ++i) {
    const Dim more = x[i] - y[i];
    if (!more.is_constant())
      fail("whether axis {} grows from {} to {} is not known before a run", i, x[i].to_string(), y[i].to_string());
    before.push_back(more.constant() / 2);  // toward 0, as the op cuts and adds
    after.push_back(more - before.back());
  }
  before.insert(before.end(), after.begin(), after.end());
  return {ops::pad(a.graph, {.x = a.d_results[0], .pads = before})};
}

}  // namespace

extern constinit const GradientDef slice_rule_def{.op = &slice_def, .rule = slice_gradient};
extern constinit const GradientDef strided_slice_rule_def{.op = &strided_slice_def, .rule = strided_slice_gradient};
extern constinit const GradientDef split_rule_def{.op = &split_def, .rule = split_gradient};
extern constinit const GradientDef concat_rule_def{.op = &concat_def, .rule = concat_gradient};
extern constinit const GradientDef pad_rule_def{.op = &pad_def, .rule = pad_gradient};
extern constinit const GradientDef center_crop_pad_rule_def{.op = &center_crop_pad_def,
                                                            .rule = center_crop_pad_gradient};

}  // namespace hone
