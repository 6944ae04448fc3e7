// One specialisation of a model: steps with machine code and addresses, ready to run for one set of shapes.
#pragma once

#include <memory>
#include <vector>

#include "codegen/compiler.h"
#include "codegen/lower.h"
#include "codegen/panel_memory.h"
#include "runtime/session.h"

namespace hone {

// Constants laid out for kernels, by their ids: those of one graph.
class WeightStore {
 public:
  WeightStore(IsaLevel isa, int threads) : isa_(isa), threads_(threads) {}
  const std::byte* get(const KernelPlan& plan, ValueId constant, const Tensor& weights);
  int64_t bytes() const { return bytes_; }
  double milliseconds() const { return milliseconds_; }

 private:
  IsaLevel isa_;
  int threads_;
  PanelPool pool_;
  std::map<std::string, Buffer> buffers_;
  int64_t bytes_ = 0;
  double milliseconds_ = 0;
};

// Memory that runs of one session share: the arena and one scratch area per thread. Grows, never shrinks.
struct Workspace {
  Buffer arena;
  std::vector<Buffer> scratch;
};

// Where the results of the steps lie in the one block of memory they share.
struct Arena {
  int64_t bytes = 0, lower_bound = 0;  // lower_bound: the largest set of values that live at once
  std::map<ValueId, int64_t> offsets;  // by the value that holds the memory
};
Arena plan_arena(const Graph& graph, const LoweredGraph& lowered);

class Executable {
 public:
  // `graph` has constant shapes. Values below `shared_values` have the ids of the session's symbolic graph, and as
  // constants their layouts are in `weights`, which all specialisations share; constants above belong to these shapes
  // alone.
  Executable(Graph graph, KernelLibrary& library, WeightStore& weights, ValueId shared_values,
             const LowerOptions& options, int threads);

  std::vector<Tensor> run(const NamedTensors& inputs, Workspace& workspace, RunProfile* profile) const;

  int64_t arena_bytes() const { return arena_bytes_; }
  int64_t arena_lower_bound() const { return arena_lower_bound_; }
  int64_t scratch_bytes() const { return scratch_bytes_; }
  int64_t own_weight_bytes() const { return own_weights_.bytes(); }
  const LoweredGraph& lowered() const { return lowered_; }

 private:
  struct Place {  // where a value's bytes are
    enum class Kind : uint8_t { none, arena, input, constant } kind = Kind::none;
    int64_t offset = 0;  // arena: bytes; input: position
  };
  struct Pointer {
    Place::Kind kind = Place::Kind::none;
    int64_t offset = 0, index = 0;
    const void* address = nullptr;  // constant
  };
  struct Ready {
    Kernel kernel;
    KernelArgs args;
    std::vector<Pointer> pointers;
    int64_t items = 0;
  };
  void place_values();
  void prepare_step(size_t i, const Kernel& kernel, WeightStore& weights);
  void check_indices(const Step& step, const Ready& ready, const KernelArgs& args) const;
  void interpret(const Step& step, const std::vector<const std::byte*>& inputs, std::byte* arena) const;
  const std::byte* address(ValueId v, const std::vector<const std::byte*>& inputs, const std::byte* arena) const;
  Tensor view(ValueId v, const std::vector<const std::byte*>& inputs, const std::byte* arena) const;

  Graph graph_;
  LoweredGraph lowered_;
  WeightStore own_weights_;
  ValueId shared_values_;
  std::vector<Place> places_;  // per ValueId, of the value that holds the memory
  std::vector<Ready> ready_;
  int threads_;
  int64_t arena_bytes_ = 0, arena_lower_bound_ = 0, scratch_bytes_ = 0;
};

}  // namespace hone
