// Resizes whose places lie between elements: tables of what each place reads.
#include <algorithm>

#include "codegen/kernels/pointwise/moves.h"
#include "codegen/kernels/resize/plan.h"
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

}  // namespace

Support lower_resize(const Lowering& lowering, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const Graph& graph = lowering.graph;
  const Node& node = graph.node(step.group.anchor);
  if (Support r = lowering.open_sizes(step.group); !r.supported()) return r;
  const bool any_plane = lowering.sizes != nullptr;  // of a graph with open sizes
  const KnownArguments known = known_arguments(lowering, step.group.anchor);
  if (!known.all) return {"arguments that are not constant"};
  const std::vector<int64_t> in = lowering.fixed_shape(node.operands[0]);
  std::vector<ResizedAxis> resized = resize_samples(known.args(), in);
  std::erase_if(resized,
                [&](const ResizedAxis& each) { return std::ssize(each.places) == in[each.axis] && is_identity(each); });
  std::ranges::sort(resized, {}, &ResizedAxis::axis);
  if (resized.empty() || resized.size() > 2 || resized.back().axis - resized.front().axis + 1 != resized.size())
    return {"resized axes that are not one or two neighbours"};
  ResizePlan plan;
  const auto first = static_cast<ptrdiff_t>(resized.front().axis), last = static_cast<ptrdiff_t>(resized.back().axis);
  plan.x = graph.type(node.operands[0]).dtype;
  plan.result = graph.type(node.results[0]).dtype;
  plan.channels = element_count(std::vector(in.begin() + last + 1, in.end()));
  plan.width = in[static_cast<size_t>(last)];
  if (last != first) plan.height = in[static_cast<size_t>(first)];
  const auto columns = sampled(resized.back().places);
  const auto rows = last != first ? sampled(resized.front().places) : ResizePlan::Axis{1, {0}, {1}};
  if (!rows || !columns) return {"places outside x"};
  for (const ResizePlan::Axis* axis : {&*rows, &*columns})
    if (axis->positions.size() > kMostSamples) return {"more places than the tables of a kernel hold"};
  plan.rows = *rows, plan.columns = *columns;
  step.dims[0] = element_count(std::vector(in.begin(), in.begin() + first));
  lowering.bind(step, node.operands[0]);
  lowering.bind(step, node.results[0]);
  if (any_plane) {
    const ResizeTables tables = for_any_plane(plan, step.dims);
    for (const ResizePlan::Axis* axis : {&tables.rows, &tables.columns}) {
      lowering.bind_made(step, Tensor::of<int64_t>({std::ssize(axis->positions)}, axis->positions));
      lowering.bind_made(step, Tensor::of<float>({std::ssize(axis->weights)}, axis->weights));
    }
  }
  step.plan = plan;
  return {};
}

}  // namespace hone
