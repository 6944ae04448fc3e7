#include "runtime/run_plan.h"

#include <algorithm>
#include <map>

#include "base/checked.h"

namespace hone {

size_t index_of(PointerBinding::Plane plane) {
  switch (plane) {
    case PointerBinding::Plane::scales:
      return 1;
    case PointerBinding::Plane::zero_points:
      return 2;
    case PointerBinding::Plane::global:
      return 3;
    default:
      return 0;
  }
}

RunPlan::RunPlan(std::shared_ptr<Device> of, int with_threads, std::shared_ptr<PreparedGraph> graph, RunSizes for_sizes)
    : device(std::move(of)),
      on_host(device->is_host()),
      threads(with_threads),
      prepared(std::move(graph)),
      sizes(std::move(for_sizes)),
      lowered(prepared->place(sizes)) {
  place_values();
  find_last_looks();
}

void RunPlan::place_values() {
  const Graph& graph = this->graph();
  places.resize(graph.value_capacity());
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const ValueId v = graph.inputs()[i];
    places[static_cast<size_t>(v)] =
        sizes.known(v) ? Place{Place::Kind::constant, 0} : Place{Place::Kind::input, static_cast<int64_t>(i)};
  }
  for (const Step& step : lowered.steps)
    for (ValueId v : step->reads)
      if (graph.constant(holder(v))) places[static_cast<size_t>(holder(v))] = {Place::Kind::constant, 0};
  arena = plan_arena(graph, lowered, sizes, !on_host);
  shared_offset = arena.bytes;
  for (const Step& step : lowered.steps)
    if (!is_copied(step)) arena.bytes = std::max(arena.bytes, checked_add(shared_offset, step.shared_bytes));
  for (const auto& [value, offset] : arena.offsets) places[static_cast<size_t>(value)] = {Place::Kind::arena, offset};
  for (const auto& [value, output] : arena.outputs)
    places[static_cast<size_t>(value)] = {Place::Kind::output, static_cast<int64_t>(output)};
}

void RunPlan::find_last_looks() {
  std::map<ValueId, size_t> last, outputs;
  for (size_t i = 0; i < lowered.steps.size(); ++i) {
    for (ValueId v : lowered.steps[i]->reads) last[holder(v)] = i;
    for (ValueId v : lowered.steps[i]->writes) last[holder(v)] = i;
  }
  for (const Output& output : graph().outputs()) ++outputs[holder(output.value)];
  for (const auto& [value, i] : arena.outputs)
    if (graph().outputs()[i].updates != kNone && outputs[value] == 1 && last.contains(value))
      written.push_back({last.at(value), i});
  std::ranges::sort(written, {}, &Written::step);
}

const Tensor* RunPlan::constant(ValueId v) const {
  const Tensor* own = graph().constant(v);
  return own ? own : sizes.known(v);
}

std::optional<Strides> RunPlan::strides_of(ValueId v) const {
  const auto found = lowered.strides.find(v);
  return found == lowered.strides.end() ? std::nullopt : std::optional(Strides{.strides = found->second});
}

Tensor RunPlan::tensor_of(ValueId v, Planes planes) const {
  const TensorType& type = graph().type(v);
  const std::span<const int64_t> extents = sizes.shape(v);
  std::vector<int64_t> shape(extents.begin(), extents.end());
  if (!type.is_packed()) return Tensor(type.dtype, std::move(shape), std::move(planes[0]));
  return Tensor::packed(*type.format, std::move(shape), std::move(planes[0]), std::move(planes[1]),
                        std::move(planes[2]), std::move(planes[3]));
}

Tensor RunPlan::seen_as(ValueId v, const Tensor& held) const {
  const std::span<const int64_t> shape = sizes.shape(v);
  if (held.is_packed() || std::ranges::equal(held.shape(), shape)) return held;
  return held.reshaped({shape.begin(), shape.end()});
}

bool RunPlan::is_in_place(const Step& step) const {
  if (!step->copies) return false;
  const ValueId from = holder(step->reads[0]), to = holder(step->writes[0]);
  const Place &source = places[static_cast<size_t>(from)], &target = places[static_cast<size_t>(to)];
  if (target.kind == Place::Kind::output)
    return std::ranges::any_of(arena.overwritten, [&](const Arena::Overwritten& each) {
      return each.input == from && static_cast<int64_t>(each.output) == target.offset;
    });
  return source.kind == Place::Kind::arena && target.kind == Place::Kind::arena && source.offset == target.offset;
}

// By an op that could find no fault in its operands' values.
bool RunPlan::computes_nothing(const Step& step) const {
  const Node& node = graph().node(step->group.nodes[0]);
  const auto looks_at_values = [](const KernelDef* kernel) { return kernel->trusted.fault != nullptr; };
  if (step->group.kernels.empty() || node.op->moves || std::ranges::any_of(step->group.kernels, looks_at_values))
    return false;
  return std::ranges::all_of(node.results, [&](ValueId v) { return bytes_of(v) == 0; });
}

int64_t RunPlan::output_bytes() const {
  int64_t bytes = 0;
  for (const Output& output : graph().outputs()) bytes = checked_add(bytes, bytes_of(output.value));
  for (const Arena::Overwritten& each : arena.overwritten) bytes -= bytes_of(each.input);
  return bytes;
}

std::string RunPlan::ops_of(const Step& step) const {
  return is_copy(graph(), step->group.nodes[0]) ? "copy" : hone::ops_of(graph(), step->group);
}

}  // namespace hone
