#include "runtime/host_step.h"

#include <algorithm>

#include "base/checked.h"

namespace hone {
namespace {

// Whether an earlier step of the group has written a part of the value, which the host has yet to see.
bool is_begun(const LoweredGraph& lowered, size_t step, ValueId holder) {
  const auto& nodes = lowered.steps[step]->group.nodes;
  for (size_t s = step; s-- > 0 && lowered.steps[s]->group.nodes == nodes;)
    for (ValueId v : lowered.steps[s]->writes)
      if (lowered.alias_of[static_cast<size_t>(v)] == holder) return true;
  return false;
}

bool is_known(const Graph& graph, const RunSizes& sizes, ValueId v) { return graph.constant(v) || sizes.known(v); }

}  // namespace

HostStep host_step(const Graph& graph, const LoweredGraph& lowered, size_t step, const RunSizes& sizes, int64_t first) {
  const Step& own = lowered.steps[step];
  const auto holder = [&](ValueId v) { return lowered.alias_of[static_cast<size_t>(v)]; };
  const auto is_among = [&](const std::vector<ValueId>& values, ValueId held) {
    return std::ranges::any_of(values, [&](ValueId v) { return holder(v) == held; });
  };
  HostStep made{.values = {}, .area_bytes = first};
  for (const PointerBinding& pointer : own->pointers) {
    if (pointer.value == kNone || is_known(graph, sizes, holder(pointer.value))) continue;
    const ValueId held = holder(pointer.value);
    const PlaneSizes planes = plane_sizes(graph.type(held), sizes.shape(held));
    const int64_t bytes = bytes_in_memory(graph.type(held), sizes.shape(held));
    if (pointer.plane == PointerBinding::Plane::prepacked) {
      if (is_laid_out_in_runs(graph, held)) made.copied_bytes = checked_add(made.copied_bytes, bytes);
      continue;
    }
    if (made.find(held)) continue;
    const bool writes = is_among(own->writes, held);
    const bool reads = is_among(own->reads, held) || (writes && is_begun(lowered, step, held));
    if (!reads && !writes) continue;
    made.values.push_back({held, made.area_bytes, planes, reads, writes});
    made.area_bytes =
        checked_add(made.area_bytes, checked_add(bytes, 63) / 64 * 64);  // whole lines, as kernels may store
    made.copied_bytes = checked_add(made.copied_bytes, checked_mul(bytes, int64_t{reads} + int64_t{writes}));
  }
  return made;
}

const HostStep::Value* HostStep::find(ValueId holder) const {
  const auto found = std::ranges::find(values, holder, &Value::holder);
  return found == values.end() ? nullptr : &*found;
}

namespace {

// `copy(plane, place in the area, bytes)` for each plane that has bytes.
template <class Copy>
void each_plane(const HostStep::Value& value, const Copy& copy) {
  const PlaneSizes offsets = plane_offsets(value.sizes);
  for (size_t p = 0; p < kPlanes; ++p)
    if (value.sizes[p] > 0) copy(p, value.offset + offsets[p], static_cast<size_t>(value.sizes[p]));
}

}  // namespace

void read_operands(const HostStep& step, const ReadPlane& read, std::byte* area) {
  for (const HostStep::Value& value : step.values)
    if (value.is_read)
      each_plane(value, [&](size_t plane, int64_t place, size_t bytes) {
        read(value.holder, plane, {area + place, bytes});
      });
}

void write_results(const HostStep& step, const WritePlane& write, const std::byte* area) {
  for (const HostStep::Value& value : step.values)
    if (value.is_written)
      each_plane(value, [&](size_t plane, int64_t place, size_t bytes) {
        write(value.holder, plane, {area + place, bytes});
      });
}

int64_t copied_bytes(const Device& device, const Graph& graph, const LoweredGraph& lowered, size_t step,
                     const RunSizes& sizes) {
  if (device.is_host() || !lowered.steps[step].on_host()) return 0;
  return host_step(graph, lowered, step, sizes).copied_bytes;
}

}  // namespace hone
