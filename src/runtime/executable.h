// One specialisation of a model: steps with machine code and addresses, ready to run for one set of shapes.
#pragma once

#include <memory>
#include <vector>

#include "codegen/llvm/compiler.h"
#include "codegen/lower.h"
#include "codegen/panel_memory.h"
#include "runtime/arena.h"
#include "runtime/session.h"
#include "runtime/workspace.h"

namespace hone {

// Constants laid out for kernels, by their ids: those of one graph. What has been laid out stays where it is; the rest
// is for one thread at a time.
class WeightStore {
 public:
  WeightStore(const Target& target, int threads) : target_(target), threads_(threads) {}
  const std::byte* get(const KernelPlan& plan, ValueId constant, const Tensor& weights);
  // What get() would lay out: its key and bytes; none where that has happened.
  struct Layout {
    std::string key;
    int64_t bytes = 0;
  };
  std::optional<Layout> missing(const KernelPlan& plan, ValueId constant) const;
  int64_t bytes() const { return bytes_; }
  double milliseconds() const { return milliseconds_; }

 private:
  Target target_;
  int threads_;
  PanelPool pool_;
  std::map<std::string, Buffer> buffers_;
  int64_t bytes_ = 0;
  double milliseconds_ = 0;
};

// Nothing in it changes while it runs, so any number of runs may be under way, each with a workspace of its own.
class Executable {
 public:
  // `graph` has constant shapes. Values below `shared_values` have the ids of the session's symbolic graph, and as
  // constants their layouts are in `weights`, which all specialisations share; constants above belong to these shapes
  // alone. Throws Error, before code is generated or weights are laid out, when a run would need more memory than the
  // process may take; `held` bytes of it are there already.
  Executable(Graph graph, KernelLibrary& library, WeightStore& weights, ValueId shared_values,
             const LowerOptions& options, int threads, int64_t held);

  void reserve(Workspace& workspace) const;  // what a run takes
  // In a workspace that has that, and has begun a run. `profile`, when given, gets the marks of the steps. `check`:
  // every result must be finite (check_finite.h).
  std::vector<Tensor> run(const NamedTensors& inputs, Workspace& workspace, RunProfile* profile, bool check) const;

  std::vector<StepProfile> step_profiles() const;

  const Arena& arena() const { return plan_; }
  int64_t scratch_bytes() const { return scratch_bytes_; }
  int64_t own_weight_bytes() const { return own_weights_.bytes(); }
  const LoweredGraph& lowered() const { return lowered_; }

 private:
  struct Place {  // where a value's bytes are
    enum class Kind : uint8_t { none, arena, input, constant } kind = Kind::none;
    int64_t offset = 0;  // arena: bytes; input: position
  };
  // checked: a kernel that numbers rows of an operand, which are looked at first.
  enum class How : uint8_t { nothing, kernel, checked, interpreted };
  struct Ready {
    How how = How::nothing;
    KernelFn kernel = nullptr;
    Launch call;
  };
  struct ArenaPointer {
    size_t step;
    int position;  // in KernelArgs::pointers
    int64_t offset;
  };
  struct InputPointer {
    size_t input, step;
    int position;
    int64_t offset;
  };
  void place_values();
  void require_memory_for_runs(const WeightStore& weights, const Target& target, int64_t held) const;
  void prepare_step(size_t i, KernelFn kernel, const Target& target, WeightStore& weights);
  void prepare_pointer(size_t i, int position, WeightStore& weights);
  const WeightStore& store_of(ValueId constant, const WeightStore& weights) const {
    return constant < shared_values_ ? weights : own_weights_;
  }
  const std::byte* constant_plane(const Step& step, const PointerBinding& binding, WeightStore& weights);
  bool computes_nothing(const Step& step) const;
  void bind(const NamedTensors& inputs, Workspace& workspace) const;
  void run_step(size_t i, const Workspace& workspace) const;
  void check_row_numbers(const Step& step, const KernelArgs& args) const;
  void interpret(const Step& step, const Workspace& workspace) const;
  std::byte* address(ValueId v, const Workspace& workspace) const;
  Tensor view(ValueId v, const Workspace& workspace) const;
  std::vector<Tensor> outputs(const Workspace& workspace) const;
  std::string ops_of(const Step& step) const;
  std::vector<std::string> weights_of(const Step& step) const;
  void require_finite_results(const Step& step, const NamedTensors& inputs, const Workspace& workspace) const;

  Graph graph_;
  LoweredGraph lowered_;
  WeightStore own_weights_;
  ValueId shared_values_;
  std::vector<Place> places_;  // per ValueId, of the value that holds the memory
  std::shared_ptr<const void> identity_ = std::make_shared<const char>();  // what a workspace knows this by
  std::vector<Ready> ready_;                                               // per step
  std::vector<KernelArgs> args_;  // per step, complete but for inputs and the arena
  std::vector<ArenaPointer> arena_pointers_;
  std::vector<InputPointer> input_pointers_;
  int threads_;
  Arena plan_;
  int64_t shared_offset_ = 0;  // behind it: what steps of one group pass to each other
  int64_t scratch_bytes_ = 0;
};

}  // namespace hone
