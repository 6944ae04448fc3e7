// From a graph with constant shapes to kernel plans with their arguments: what the runtime needs to lay out memory and
// run, still without addresses and machine code.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "codegen/fusion.h"
#include "codegen/kernel.h"
#include "ir/graph.h"

namespace hone {

// Which bytes a kernel's pointer means.
struct PointerBinding {
  // shared: memory that the steps of one group pass to each other.
  enum class Plane : uint8_t { none, data, scales, zero_points, global, prepacked, shared } plane = Plane::none;
  ValueId value = kNone;
  int64_t byte_offset = 0;
};

struct Step {
  std::string name;  // of the value it computes
  Group group;
  std::optional<KernelPlan> plan;  // none: interpreted (group.nodes has one node)
  std::string why_interpreted;
  std::vector<std::string> refused;  // other ways to compute this, each with the reason against it
  std::vector<PointerBinding> pointers;
  std::array<int64_t, 48> dims{};
  std::vector<ValueId> reads, writes;  // values in memory
  // Operands that a dense result of as many elements of the same size may be written over: the kernel reads their
  // element i before it writes element i of a result, and never again.
  std::vector<ValueId> overwritable;
  int64_t shared_bytes = 0;
  double flops = 0, bytes = 0;  // predicted: arithmetic, and bytes of operands and results moved once
  double weight_bytes = 0;      // the part of `bytes` that is constants
};

struct LoweredGraph {
  std::vector<Step> steps;
  std::vector<ValueId> alias_of;  // per ValueId: the value whose memory it shares (views), itself otherwise
};

struct LowerOptions {
  Target target = host_target();
  bool fuse = true;    // false: a kernel for each node
  bool exact = false;  // no algorithm whose rounding errors are larger than those of the sums that ops are defined by
};
LoweredGraph lower(const Graph& graph, const LowerOptions& options);

}  // namespace hone
