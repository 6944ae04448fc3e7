// What runs of one set of sizes compute and where its values lie: known before there is code or memory.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "device/device.h"
#include "kernels/lower.h"
#include "runtime/arena.h"
#include "runtime/strided.h"

namespace hone {

struct RunPlan {
  RunPlan(std::shared_ptr<Device> of, int with_threads, std::shared_ptr<PreparedGraph> graph, RunSizes for_sizes);
  RunPlan(const RunPlan&) = delete;
  RunPlan& operator=(const RunPlan&) = delete;

  struct Place {  // where a value's bytes are
    enum class Kind : uint8_t { none, arena, input, constant, output } kind = Kind::none;
    int64_t offset = 0;  // arena: bytes; input, output: position
  };
  // An update in memory that no other output has, after the last step that looks at it.
  struct Written {
    size_t step, output;
  };

  const Graph& graph() const { return prepared->graph(); }
  ValueId holder(ValueId v) const { return lowered.alias_of[static_cast<size_t>(v)]; }  // of the memory
  const Place& place(ValueId v) const { return places[static_cast<size_t>(holder(v))]; }
  const Tensor* constant(ValueId v) const;  // of the graph, or known with the sizes
  int64_t bytes_of(ValueId v) const { return bytes_in_memory(graph().type(v), sizes.shape(v)); }
  PlaneSizes sizes_of(ValueId v) const { return plane_sizes(graph().type(v), sizes.shape(v)); }
  std::optional<Strides> strides_of(ValueId v) const;  // none: row-major
  using Planes = std::array<Buffer, kPlanes>;
  Tensor tensor_of(ValueId v, Planes planes) const;
  // What a value is whose memory `held` has: itself, or what it is a view of. Packed tensors have one shape.
  Tensor seen_as(ValueId v, const Tensor& held) const;

  bool is_here(const Buffer& buffer) const {  // in the device's memory
    return buffer.size() == 0 || buffer.memory() == (on_host ? nullptr : device.get());
  }
  bool is_in_place(const Step& step) const;       // of one that copies: there is nothing to do
  bool computes_nothing(const Step& step) const;  // of results without elements
  int64_t output_bytes() const;                   // of outputs and updates that are not written over what they update
  std::string ops_of(const Step& step) const;     // for people

  const std::shared_ptr<Device> device;
  const bool on_host;  // the device's memory is the host's
  const int threads;
  const std::shared_ptr<PreparedGraph> prepared;
  const RunSizes sizes;
  const LoweredGraph lowered;
  Arena arena;
  int64_t shared_offset = 0;     // in the arena, behind it: what steps of one group pass to each other
  std::vector<Place> places;     // per ValueId, of the value that holds the memory
  std::vector<Written> written;  // by step

 private:
  void place_values();
  void find_last_looks();
};

}  // namespace hone
