// A step that the host's kernel runs for a device with memory of its own: what it reads is copied to an area of the
// host's memory, where the kernel runs, and what it has written is copied back.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "kernels/lower.h"
#include "runtime/arena.h"

namespace hone {

struct HostStep {
  struct Value {
    ValueId holder;      // of the memory
    int64_t offset = 0;  // in the area; planes lie as they do in an arena
    PlaneSizes sizes{};
    bool is_read = false, is_written = false;
  };
  std::vector<Value> values;
  int64_t area_bytes = 0;
  int64_t copied_bytes = 0;  // to the host and back

  const Value* find(ValueId holder) const;  // null: a result that nobody reads, which has no memory
};

// `first`: where the values begin in the area; before it is what steps of one group pass to each other.
HostStep host_step(const Graph& graph, const LoweredGraph& lowered, size_t step, const RunSizes& sizes,
                   int64_t first = 0);

// To the area and, of results, back. What is asked of a queue is done when that is synchronised: the area stays as it
// is until then.
using ReadPlane = std::function<void(ValueId holder, size_t plane, std::span<std::byte> to)>;
using WritePlane = std::function<void(ValueId holder, size_t plane, std::span<const std::byte> from)>;
void read_operands(const HostStep& step, const ReadPlane& read, std::byte* area);
void write_results(const HostStep& step, const WritePlane& write, const std::byte* area);

// What a run copies for it; nothing where the device's memory is the host's.
int64_t copied_bytes(const Device& device, const Graph& graph, const LoweredGraph& lowered, size_t step,
                     const RunSizes& sizes);

}  // namespace hone
