#include "runtime/arena.h"

#include <algorithm>
#include <optional>

#include "base/checked.h"
#include "runtime/memory_plan.h"

namespace hone {
namespace {

class ArenaPlanner {
  static constexpr size_t kNowhere = ~size_t{0};

 public:
  ArenaPlanner(const Graph& graph, const LoweredGraph& lowered, const RunSizes& sizes)
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
  }

  Arena plan() {
    Arena arena;
    for (size_t s = 0; s < lowered_.steps.size(); ++s)
      for (ValueId v : lowered_.steps[s]->writes) {
        if (range_of(v) != kNowhere) continue;  // the parts of a value are written one after the other
        if (const size_t output = output_of(v); output != kNowhere) {
          if (arena.outputs.empty() || arena.outputs.back().first != holder(v))
            arena.outputs.emplace_back(holder(v), output);
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

  bool same_size(ValueId a, ValueId b) const {
    return size_bytes(graph_.type(a).dtype) == size_bytes(graph_.type(b).dtype) && bytes_of(a) == bytes_of(b) &&
           bytes_of(b) == bytes_of(holder(b));
  }

  int64_t bytes_of(ValueId v) const { return bytes_in_memory(graph_.type(v).dtype, sizes_.shape(v)); }

  bool read_once(const Step& step, ValueId v) const {
    return std::ranges::count_if(step->pointers, [&](const PointerBinding& p) {
             return p.value != kNone && holder(p.value) == holder(v);
           }) == 1;
  }

  const Graph& graph_;
  const LoweredGraph& lowered_;
  const RunSizes& sizes_;
  std::vector<int> last_read_;  // per holder: the last step, one behind the end for outputs
  std::vector<Range> ranges_;
  std::vector<size_t> range_of_;   // per holder
  std::vector<size_t> output_of_;  // likewise: the first output that it is
};

}  // namespace

int64_t bytes_in_memory(DType dtype, std::span<const int64_t> shape) {
  return checked_mul(element_count(shape), size_bytes(dtype));
}
int64_t bytes_in_memory(const TensorType& type) { return bytes_in_memory(type.dtype, constant_shape(type.shape)); }

Arena plan_arena(const Graph& graph, const LoweredGraph& lowered, const RunSizes& sizes) {
  return ArenaPlanner(graph, lowered, sizes).plan();
}
Arena plan_arena(const Graph& graph, const LoweredGraph& lowered) {
  return plan_arena(graph, lowered, RunSizes(graph));
}

}  // namespace hone
