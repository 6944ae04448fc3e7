// A model made ready for one set of sizes: steps with machine code and addresses.
#pragma once

#include <memory>
#include <vector>

#include "device/device.h"
#include "kernels/lower.h"
#include "runtime/arena.h"
#include "runtime/host_step.h"
#include "runtime/input_view.h"
#include "runtime/output_view.h"
#include "runtime/session.h"
#include "runtime/shared_kernels.h"
#include "runtime/workspace.h"

namespace hone {

// Nothing in it changes while it runs, so any number of runs may be under way, each with a workspace of its own.
class Executable {
 public:
  // Throws Error, before code is generated or weights are laid out, when a run would need more memory than the process
  // may take; `held` bytes of it are there already.
  Executable(std::shared_ptr<PreparedGraph> prepared, RunSizes sizes, SharedKernels& shared, int64_t held);

  // Who looks on while steps run.
  struct Watch {
    RunProfile* profile = nullptr;  // gets the marks of the steps: a first one, unless it has that, and each one's end
    bool check = false;             // every result must be finite (check_finite.h)
    const UpdateWritten* written = nullptr;
  };

  void reserve(Workspace& workspace) const;  // what a run takes
  // In a workspace that has that, and has begun a run. `apart`: where those inputs lie whose elements lie apart.
  // `views` are memory for outputs, checked; what is returned of those that lie apart is an empty tensor. `lent`, null
  // or &inputs: those that the graph updates may be written over, once nothing can fail any more.
  std::vector<Tensor> run(const NamedTensors& inputs, const InputViews& apart, NamedTensors* lent,
                          const OutputViews& views, Workspace& workspace, const Watch& watch) const;

  std::vector<StepProfile> step_profiles() const;

  const Arena& arena() const { return plan_; }
  int64_t scratch_bytes() const { return scratch_bytes_; }
  int64_t output_bytes() const;  // of outputs and updates that are not written over what they update
  int64_t own_weight_bytes() const { return own_weights_.bytes() + (host_weights_ ? host_weights_->bytes() : 0); }
  int64_t laid_out_bytes() const;  // of weights that are no constants
  const LoweredGraph& lowered() const { return lowered_; }
  const Graph& graph() const { return prepared_->graph(); }

 private:
  struct Place {  // where a value's bytes are
    enum class Kind : uint8_t { none, arena, input, constant, output } kind = Kind::none;
    int64_t offset = 0;  // arena: bytes; input, output: position
  };
  // checked: a kernel that trusts values which the run computes, and which are looked at first.
  enum class How : uint8_t { nothing, kernel, checked, interpreted };  // kernel, checked: of the device or the host
  struct Ready {
    How how = How::nothing;
    Code code = nullptr;
    Launch call;
  };
  struct ArenaPointer {
    size_t step;
    int position;  // in KernelArgs::pointers
    int64_t offset;
  };
  struct CallerPointer {
    size_t which;  // plane of inputs or outputs
    size_t step;
    int position;
    int64_t offset;
  };
  // Weights that a run lays out: parameters where that has not happened to what they are now, and what the run or
  // another changes, each time.
  struct LaidOut {
    size_t step;
    int position;
    ValueId value;  // that holds the memory
    ValueId seen;   // what the node reads: the value, or a view of it
    bool is_kept;   // by the store of parameters
  };
  // What an interpreted step is told of its node.
  struct Interpreted {
    Attributes attributes;
    std::vector<TensorType> results;
  };
  // An update in memory that no other output has, after the last step that looks at it.
  struct Written {
    size_t step, output;
  };
  void place_values();
  void find_last_looks();
  void plan_calls();
  void plan_host_steps();
  void require_memory_for_runs(const SharedKernels& shared, int64_t held) const;
  void find_code(SharedKernels& shared);
  void find_code_of(SharedKernels& shared, bool on_host);
  void prepare_pointer(size_t i, int position, SharedKernels& shared);
  bool is_copied(const Step& step) const { return step.on_host() && !device_->is_host(); }
  const Device& device_of(const StepCall& step) const { return prepared_->options().device_of(step); }
  WeightStore& own_weights_of(const StepCall& step) { return step.on_host() ? *host_weights_ : own_weights_; }
  const WeightStore& own_weights_of(const StepCall& step) const {
    return step.on_host() ? *host_weights_ : own_weights_;
  }
  std::byte* laid_out(const Step& step, int position, ValueId seen, SharedKernels& shared);
  int64_t host_bytes() const;  // of a run: copies of operands and results, and scratch memory of the host's kernels
  ValueId holder(ValueId v) const { return lowered_.alias_of[static_cast<size_t>(v)]; }
  const Tensor* constant(ValueId v) const;  // of the graph, or known with the sizes
  int64_t bytes_of(ValueId v) const { return bytes_in_memory(graph().type(v), sizes_.shape(v)); }
  PlaneSizes sizes_of(ValueId v) const { return plane_sizes(graph().type(v), sizes_.shape(v)); }
  bool computes_nothing(const Step& step) const;
  bool is_in_place(const Step& step) const;
  bool is_here(const Buffer& buffer) const;  // in the device's memory
  Buffer brought_here(const Buffer& plane, Queue& queue) const;
  using OutputMemory = std::array<Buffer, kPlanes>;
  std::vector<OutputMemory> output_memory(const NamedTensors& inputs, NamedTensors* lent, const OutputViews& given,
                                          Queue& queue) const;
  void bind(const NamedTensors& inputs, const InputViews& apart, std::span<OutputMemory> outputs,
            Workspace& workspace) const;
  void run_step(size_t i, const Workspace& workspace) const;
  void run_on_host(size_t i, const Workspace& workspace) const;
  void check_trusted(size_t i, const Workspace& workspace) const;
  void lay_out_kept(const NamedTensors& inputs, Workspace& workspace) const;
  void lay_out_computed(size_t i, Workspace& workspace) const;
  void interpret(size_t i, const Workspace& workspace) const;
  std::byte* address(ValueId v, size_t plane, const Workspace& workspace) const;
  Tensor view(ValueId v, const Workspace& workspace) const;
  Tensor seen_as(ValueId v, const Tensor& held) const;
  Tensor tensor_of(ValueId v, OutputMemory planes) const;
  std::optional<Strides> strides_of(ValueId v) const;  // none: row-major
  std::vector<Tensor> outputs(std::span<const OutputMemory> memory, const OutputViews& given,
                              const Workspace& workspace) const;
  std::string ops_of(const Step& step) const;
  std::vector<std::string> weights_of(const Step& step) const;
  void require_finite_results(const Step& step, const NamedTensors& inputs, const Workspace& workspace) const;

  std::shared_ptr<Device> device_;
  std::shared_ptr<PreparedGraph> prepared_;
  RunSizes sizes_;
  LoweredGraph lowered_;
  WeightStore own_weights_;
  std::optional<WeightStore> host_weights_;    // of the host's kernels
  std::map<size_t, HostStep> host_steps_;      // by step: those whose operands are copied
  std::map<size_t, Interpreted> interpreted_;  // by step
  std::vector<Place> places_;                  // per ValueId, of the value that holds the memory
  std::shared_ptr<const void> identity_ = std::make_shared<const char>();  // what a workspace knows this by
  std::vector<Ready> ready_;                                               // per step
  std::vector<size_t> checked_first_;  // steps that trust what is given, which is looked at before a run begins
  std::vector<KernelArgs> args_;       // per step, complete but for inputs and the arena
  std::vector<ArenaPointer> arena_pointers_, host_pointers_;
  std::vector<CallerPointer> input_pointers_, output_pointers_;
  std::vector<Written> written_;   // by step
  std::vector<LaidOut> laid_out_;  // by step
  ParameterStore* parameters_;
  ParameterStore* host_parameters_;  // null where the host runs nothing
  int threads_, scratch_areas_;
  Arena plan_;
  int64_t shared_offset_ = 0;  // behind it: what steps of one group pass to each other
  int64_t scratch_bytes_ = 0;
  std::shared_ptr<Device> host_;
  int64_t host_area_bytes_ = 0, host_scratch_bytes_ = 0;
};

}  // namespace hone
