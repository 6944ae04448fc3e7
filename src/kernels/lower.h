// From a graph to kernel plans with their arguments: what the runtime needs to lay out memory and run, still without
// addresses and machine code. What does not depend on the sizes of a run is done once (PreparedGraph), the rest for
// each run's sizes, in microseconds.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/args.h"
#include "device/device.h"
#include "ir/graph.h"
#include "kernels/fusion.h"
#include "kernels/kernel.h"
#include "kernels/layouts.h"
#include "kernels/run_sizes.h"

namespace hone {

// Which bytes a kernel's pointer means.
struct PointerBinding {
  // shared: memory that the steps of one group pass to each other; made: tables of the step.
  enum class Plane : uint8_t { none, data, scales, zero_points, global, prepacked, shared, made } plane = Plane::none;
  ValueId value = kNone;
  int64_t byte_offset = 0;  // made: which table
};

// What of a step no run's sizes change.
struct StepFrame {
  std::string name;  // of the value it computes
  Group group;
  std::string why_interpreted;
  std::vector<PointerBinding> pointers;
  std::vector<ValueId> reads, writes;  // values in memory
  // Operands that a dense result of as many elements of the same size may be written over: the kernel reads their
  // element i before it writes element i of a result, and never again.
  std::vector<ValueId> overwritable;
  bool copies = false;       // what it writes is what it reads: nothing to do where both are in one place
  std::vector<Tensor> made;  // tables
  double moved_bytes = 0;    // where the step is a part of what its node moves
  bool is_rest = false;      // its work counts as that of the group's first step
};

// And what they do.
struct StepCall {
  std::optional<KernelPlan> plan;     // none: interpreted (group.nodes has one node)
  bool lasting = false;               // the plan is the group's for all sizes, or for many
  SharedVector<std::string> refused;  // other ways to compute this, each with the reason against it
  KernelDims dims{};
  int64_t shared_bytes = 0;  // of Plane::shared
  std::string why_on_host;   // why the device has no kernel, where the plan is one of the host's; empty elsewhere
  bool on_host() const { return !why_on_host.empty(); }

  // The sizes among the arguments of a class (device/args.h).
  template <HasPlaces Args>
  Args args() const {
    return from_args<Args>({.pointers = {}, .dims = dims});
  }
  template <HasPlaces Args>
  void set(const Args& named) {
    KernelArgs args{.pointers = {}, .dims = dims};
    write_args(named, args);
    dims = args.dims;
  }
};

// For the sizes of one run. Steps of different runs share their frames.
struct Step : StepCall {
  Step(std::shared_ptr<const StepFrame> frame, StepCall call) : StepCall(std::move(call)), frame_(std::move(frame)) {}
  const StepFrame* operator->() const { return frame_.get(); }

 private:
  std::shared_ptr<const StepFrame> frame_;
};

struct LoweredGraph {
  std::vector<Step> steps;
  std::vector<ValueId> alias_of;  // per ValueId: the value whose memory it shares (views), itself otherwise
  std::map<ValueId, std::vector<int64_t>> strides = {};  // of values that do not lie row-major
};

struct LowerOptions {
  std::shared_ptr<const Device> device = open_device("cpu");
  HostKernels host = {};     // for what the device has no kernel for
  bool no_fallback = false;  // that is an Error, which lists it, and so is what would be interpreted
  bool fuse = true;          // false: a kernel for each node
  // No algorithm whose rounding errors are larger than those of the sums that ops are defined by.
  bool no_winograd = false;
  const Device& device_of(const StepCall& step) const { return step.on_host() ? *host.device : *device; }
};

// A graph whose sizes may be open, parted into groups and these made ready. For one thread at a time. With `layouts` it
// has copies where they are needed, and bindings have the strides' symbols, too.
class PreparedGraph {
 public:
  PreparedGraph(Graph graph, LowerOptions options, const Layouts& layouts = {});
  ~PreparedGraph();
  PreparedGraph(PreparedGraph&&) noexcept;

  const Graph& graph() const;
  const LowerOptions& options() const;
  RunSizes sizes(Bindings bindings, std::map<ValueId, Tensor> known = {}) const;
  LoweredGraph place(const RunSizes& sizes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

LoweredGraph lower(const Graph& graph, const LowerOptions& options);  // of constant shapes

// Begins the labels of inputs whose values come with the sizes of a run (RunSizes::known).
inline constexpr char kKnownInput = '%';

// Predicted: arithmetic, and bytes of operands and results moved once; `weight_bytes` of them are constants.
struct StepWork {
  double flops = 0, bytes = 0, weight_bytes = 0;
};
StepWork work_of(const Graph& graph, const Step& step);  // of constant shapes
// The same where `graph` has constant shapes as far as its rules tell, and a run's sizes the rest.
StepWork work_of(const Graph& graph, const Step& step, const RunSizes& sizes);

}  // namespace hone
