// Resizes whose places lie between elements: tables of what each place reads.
#include <algorithm>
#include <functional>

#include "base/checked.h"
#include "base/multiples.h"
#include "kernels/pointwise/moves.h"
#include "kernels/resize/plan.h"
#include "ops/read_positions.h"

namespace hone {
namespace {

constexpr size_t kMostSamples = size_t{1} << 18;  // of one axis, in the tables of a kernel: 4 MB of code

// The same number of taps at each place, those that are missing with a weight of 0. None: the border's value.
std::optional<ResizePlan::Axis> sampled(const std::vector<Sample>& places) {
  ResizePlan::Axis axis;
  std::vector<Sample> used;
  for (Sample sample : places) {
    std::erase_if(sample, [](const Weighted& each) { return each.weight == 0; });
    if (sample.empty()) return std::nullopt;
    axis.taps = std::max(axis.taps, static_cast<int64_t>(std::ssize(sample)));
    used.push_back(std::move(sample));
  }
  for (Sample& sample : used) {
    sample.resize(static_cast<size_t>(axis.taps), {sample[0].position, 0});
    for (const Weighted& each : sample) {
      axis.positions.push_back(each.position);
      axis.weights.push_back(static_cast<float>(each.weight));
    }
  }
  return axis;
}

bool is_identity(const ResizedAxis& resized) {
  for (size_t i = 0; i < resized.places.size(); ++i) {
    double here = 0;
    for (const Weighted& each : resized.places[i]) here += each.position == static_cast<int64_t>(i) ? each.weight : 0;
    if (here != 1) return false;
  }
  return true;
}

// What one kernel resizes: one axis, or two neighbours.
struct Part {
  std::vector<ResizedAxis> axes;
  double growth = 1;  // of the number of elements
};

// All of them are independent of each other: those that make a tensor smallest come first, so that none between two
// kernels is larger than both x and the result.
std::vector<Part> parts_of(std::vector<ResizedAxis> resized, const std::vector<int64_t>& in) {
  std::ranges::sort(resized, std::greater(), &ResizedAxis::axis);
  std::vector<Part> parts;
  for (ResizedAxis& each : resized) {
    const bool joins = !parts.empty() && parts.back().axes.size() == 1 && parts.back().axes[0].axis == each.axis + 1;
    if (!joins) parts.emplace_back();
    Part& part = parts.back();
    part.growth *= static_cast<double>(each.places.size()) / static_cast<double>(std::max<int64_t>(1, in[each.axis]));
    part.axes.insert(part.axes.begin(), std::move(each));
  }
  std::ranges::stable_sort(parts, {}, &Part::growth);
  return parts;
}

// The plan of a part on elements of `shape`, and how many images these are.
Support plan_part(const Part& part, const std::vector<int64_t>& shape, ResizePlan& plan, ResizeArgs& args) {
  const bool two = part.axes.size() == 2;
  const auto first = static_cast<ptrdiff_t>(part.axes.front().axis),
             last = static_cast<ptrdiff_t>(part.axes.back().axis);
  plan.channels = element_count(std::vector(shape.begin() + last + 1, shape.end()));
  plan.width = shape[static_cast<size_t>(last)];
  plan.height = two ? shape[static_cast<size_t>(first)] : 1;
  const auto columns = sampled(part.axes.back().places);
  const auto rows = two ? sampled(part.axes.front().places) : ResizePlan::Axis{1, {0}, {1}};
  if (!rows || !columns) return {"places outside x"};
  for (const ResizePlan::Axis* axis : {&*rows, &*columns})
    if (axis->positions.size() > kMostSamples) return {"more places than the tables of a kernel hold"};
  plan.rows = *rows, plan.columns = *columns;
  args.images = element_count(std::vector(shape.begin(), shape.begin() + first));
  return {};
}

void bind_tables(StepDraft& step, ResizePlan& plan, ResizeArgs& args) {
  const ResizeTables tables = for_any_plane(plan, args);
  for (const ResizePlan::Axis* axis : {&tables.rows, &tables.columns}) {
    Lowering::bind_made(step, Tensor::of<int64_t>({std::ssize(axis->positions)}, axis->positions));
    Lowering::bind_made(step, Tensor::of<float>({std::ssize(axis->weights)}, axis->weights));
  }
}

}  // namespace

// A step for each part; what they pass to each other is f32.
Support lower_resize(const Lowering& lowering, Prepared& prepared) {
  const Graph& graph = lowering.graph;
  const Node& node = graph.node(prepared.step().group.anchor);
  if (Support r = lowering.open_sizes(prepared.step().group); !r.supported()) return r;
  const bool any_plane = lowering.sizes != nullptr;  // of a graph with open sizes
  const KnownArguments known = known_arguments(lowering, prepared.step().group.anchor);
  if (!known.all) return {"arguments that are not constant"};
  std::vector<int64_t> shape = lowering.fixed_shape(node.operands[0]);
  std::vector<ResizedAxis> resized = resize_samples(known.args(), shape);
  std::erase_if(resized, [&](const ResizedAxis& each) {
    return std::ssize(each.places) == shape[each.axis] && is_identity(each);
  });
  const std::vector<Part> parts = parts_of(std::move(resized), shape);
  if (parts.empty()) return {"no axis that is resized"};
  prepared.steps.assign(parts.size(), StepDraft(prepared.step()));
  int64_t passed = 0;  // bytes before those that the next step passes on
  for (size_t i = 0; i < parts.size(); ++i) {
    StepDraft& step = prepared.steps[i];
    const bool is_first = i == 0, is_last = i + 1 == parts.size();
    ResizePlan plan{.x = is_first ? graph.type(node.operands[0]).dtype : DType::f32,
                    .result = is_last ? graph.type(node.results[0]).dtype : DType::f32};
    ResizeArgs args;
    if (Support r = plan_part(parts[i], shape, plan, args); !r.supported()) return r;
    const int64_t before = passed;
    for (const ResizedAxis& each : parts[i].axes) shape[each.axis] = std::ssize(each.places);
    lowering.bind(step, is_first ? node.operands[0] : kNone, is_first ? Plane::data : Plane::shared,
                  is_first ? 0 : prepared.steps[i - 1].pointers[place_of<&ResizeArgs::out>].byte_offset);
    if (is_last) lowering.bind(step, node.results[0]);
    else lowering.bind(step, kNone, Plane::shared, before);
    if (!is_last) passed = checked_add(passed, checked_mul(round_up(element_count(shape), 16), 4));
    if (any_plane) bind_tables(step, plan, args);
    step.set(args);
    step.is_rest = !is_first;
    step.plan = plan;
  }
  for (StepDraft& step : prepared.steps) step.shared_bytes = passed;
  return {};
}

}  // namespace hone
