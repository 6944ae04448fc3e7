#include "runtime/arena.h"

#include <algorithm>
#include <optional>

#include "base/checked.h"
#include "base/multiples.h"
#include "runtime/memory_plan.h"

namespace hone {
namespace {

class ArenaPlanner {
  static constexpr size_t kNowhere = ~size_t{0};

 public:
  ArenaPlanner(const Graph& graph, const LoweredGraph& lowered, const RunSizes& sizes, bool fails_late)
      : graph_(graph),
        lowered_(lowered),
        sizes_(sizes),
        last_read_(graph.value_capacity(), -1),
        range_of_(graph.value_capacity(), kNowhere),
        output_of_(graph.value_capacity(), kNowhere) {
    for (size_t s = 0; s < lowered.steps.size(); ++s)
      for (ValueId v : lowered.steps[s]->reads) last_read(v) = static_cast<int>(s);
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      const ValueId v = graph.outputs()[i].value;
      last_read(v) = static_cast<int>(lowered.steps.size());
      if (bytes_of(v) == bytes_of(holder(v)) && output_of(v) == kNowhere) output_of(v) = i;
    }
    for (size_t i = 0; i < graph.outputs().size(); ++i)  // that are copied at the end, which takes memory
      if (const ValueId v = graph.outputs()[i].value;
          output_of(v) != i || graph.value(holder(v)).kind != ValueKind::result ||
          (graph.type(v).is_packed() && graph.outputs()[i].updates == kNone))
        may_overwrite_ = lowered.steps.size();
    for (size_t s = lowered.steps.size(); s-- > may_overwrite_;)
      if (may_fail(graph, lowered, lowered.steps[s])) may_overwrite_ = s + 1;
    if (!fails_late) return;
    updates_alone_ = lowered.steps.size();
    while (updates_alone_ > 0 && computes_updates(lowered.steps[updates_alone_ - 1])) --updates_alone_;
  }

  Arena plan() {
    Arena arena;
    for (size_t s = 0; s < lowered_.steps.size(); ++s)
      for (ValueId v : lowered_.steps[s]->writes) {
        if (range_of(v) != kNowhere) continue;  // the parts of a value are written one after the other
        if (const size_t output = output_of(v); output != kNowhere) {
          if (!arena.outputs.empty() && arena.outputs.back().first == holder(v)) continue;
          arena.outputs.emplace_back(holder(v), output);
          const ValueId input = graph_.outputs()[output].updates;
          if (input == kNone || s < may_overwrite_ || (s < updates_alone_ && !lowered_.steps[s]->copies) ||
              !can_overwrite(v, input, static_cast<int>(s)))
            continue;
          arena.overwritten.push_back({output, input});
          arena.first_overwriting = std::min(arena.first_overwriting, s);
          continue;
        }
        if (place_over_operand(v, static_cast<int>(s))) ++arena.in_place;
        else start_range(v, static_cast<int>(s));
      }
    std::vector<LiveRange> live;
    for (const Range& range : ranges_) live.push_back(range.live);
    const MemoryPlan plan = plan_memory(live);
    arena.bytes = plan.arena_bytes, arena.lower_bound = plan.lower_bound;
    for (size_t v = 0; v < range_of_.size(); ++v)
      if (range_of_[v] != kNowhere) arena.offsets.emplace_back(static_cast<ValueId>(v), plan.offsets[range_of_[v]]);
    return arena;
  }

 private:
  struct Range {
    LiveRange live;
    ValueId value;  // the one that lies there now
  };

  ValueId holder(ValueId v) const { return lowered_.alias_of[static_cast<size_t>(v)]; }
  size_t& range_of(ValueId v) { return range_of_[static_cast<size_t>(holder(v))]; }
  size_t& output_of(ValueId v) { return output_of_[static_cast<size_t>(holder(v))]; }
  int& last_read(ValueId v) { return last_read_[static_cast<size_t>(holder(v))]; }

  void start_range(ValueId v, int step) {
    range_of(v) = ranges_.size();
    ranges_.push_back({{bytes_of(v), step, std::max(step, last_read(v))}, holder(v)});
  }

  bool place_over_operand(ValueId v, int s) {
    const Step& step = lowered_.steps[static_cast<size_t>(s)];
    for (ValueId operand : step->overwritable) {
      const size_t found = range_of(operand);
      if (found == kNowhere || last_read(operand) != s || !same_size(v, operand) || !read_once(step, operand)) continue;
      Range& range = ranges_[found];
      if (range.value != holder(operand)) continue;  // another result has it
      range.live.last_step = std::max(s, last_read(v));
      range.value = holder(v);
      range_of(v) = found;
      return true;
    }
    return false;
  }

  bool computes_updates(const Step& step) {
    return std::ranges::all_of(step->writes, [&](ValueId v) {
      return output_of(v) != kNowhere && graph_.outputs()[output_of(v)].updates != kNone;
    });
  }

  // Whether nobody reads the input once step `s` has begun to write v, but for that step itself, element by element.
  bool can_overwrite(ValueId v, ValueId input, int s) {
    if (sizes_.known(input) || !same_size(v, input)) return false;
    if (last_read(input) < s) return true;
    const Step& step = lowered_.steps[static_cast<size_t>(s)];
    return last_read(input) == s && read_once(step, input) &&
           std::ranges::any_of(step->overwritable, [&](ValueId operand) { return holder(operand) == input; });
  }

  bool same_size(ValueId a, ValueId b) const {
    const TensorType &x = graph_.type(a), &y = graph_.type(b);
    return size_bytes(x.dtype) == size_bytes(y.dtype) && x.format == y.format && bytes_of(a) == bytes_of(b) &&
           bytes_of(b) == bytes_of(holder(b));
  }

  int64_t bytes_of(ValueId v) const { return bytes_in_memory(graph_.type(v), sizes_.shape(v)); }

  bool read_once(const Step& step, ValueId v) const {
    return std::ranges::count_if(step->pointers, [&](const PointerBinding& p) {
             return p.value != kNone && p.plane == PointerBinding::Plane::data && holder(p.value) == holder(v);
           }) == 1;
  }

  const Graph& graph_;
  const LoweredGraph& lowered_;
  const RunSizes& sizes_;
  size_t may_overwrite_ = 0;    // from this step on nothing fails
  size_t updates_alone_ = 0;    // likewise where launches fail late: from here on nothing but updates is computed
  std::vector<int> last_read_;  // per holder: the last step, one behind the end for outputs
  std::vector<Range> ranges_;
  std::vector<size_t> range_of_;   // per holder
  std::vector<size_t> output_of_;  // likewise: the first output that it is
};

}  // namespace

bool trusts_given_values(const Graph& graph, const LoweredGraph& lowered, const Step& step) {
  return std::ranges::all_of(step.plan->kernel().trusted.positions, [&](int position) {
    if (position < 0) return true;
    const ValueId v = step->pointers[static_cast<size_t>(position)].value;
    return v == kNone || graph.value(lowered.alias_of[static_cast<size_t>(v)]).kind != ValueKind::result;
  });
}

bool may_fail(const Graph& graph, const LoweredGraph& lowered, const Step& step) {
  const auto takes_memory = [&](const PointerBinding& pointer) {
    return pointer.plane == PointerBinding::Plane::prepacked &&
           is_laid_out_in_runs(graph, lowered.alias_of[static_cast<size_t>(pointer.value)]);
  };
  return !step.plan || !trusts_given_values(graph, lowered, step) || std::ranges::any_of(step->pointers, takes_memory);
}

bool is_laid_out_in_runs(const Graph& graph, ValueId v) {
  const Value& value = graph.value(v);
  return value.kind == ValueKind::result || (value.role == InputRole::parameter && graph.update_of(v) != kNone) ||
         (value.kind == ValueKind::input && value.role != InputRole::parameter);
}

PlaneSizes plane_sizes(const TensorType& type, std::span<const int64_t> shape) {
  if (type.dtype == DType::string) return {};
  if (!type.is_packed()) return {checked_mul(element_count(shape), size_bytes(type.dtype))};
  const PlaneBytes bytes = plane_bytes(*type.format, shape);
  return {bytes.codes, bytes.scales, bytes.zero_points, bytes.global};
}

PlaneSizes plane_offsets(const PlaneSizes& sizes) {
  PlaneSizes offsets{};
  for (size_t p = 1; p < kPlanes; ++p) offsets[p] = checked_add(offsets[p - 1], round_up(sizes[p - 1], 64));
  return offsets;
}

int64_t bytes_in_memory(const TensorType& type, std::span<const int64_t> shape) {
  const PlaneSizes sizes = plane_sizes(type, shape);
  return type.is_packed() ? checked_add(plane_offsets(sizes).back(), sizes.back()) : sizes[0];
}
int64_t bytes_in_memory(const TensorType& type) { return bytes_in_memory(type, constant_shape(type.shape)); }

Arena plan_arena(const Graph& graph, const LoweredGraph& lowered, const RunSizes& sizes, bool fails_late) {
  return ArenaPlanner(graph, lowered, sizes, fails_late).plan();
}
Arena plan_arena(const Graph& graph, const LoweredGraph& lowered, bool fails_late) {
  return plan_arena(graph, lowered, RunSizes(graph), fails_late);
}

}  // namespace hone
