#include "jobs/predicted_memory.h"

#include <algorithm>
#include <set>

#include "device/device.h"

namespace hone {
namespace {

// Laid-out weights share stretches of huge pages, the last of which is not full.
constexpr int64_t kHugePage = int64_t{2} << 20, kStretch = int64_t{16} << 20;

class Account {
 public:
  Account(const Graph& graph, const LoweredGraph& lowered, const Device& device)
      : graph_(graph), lowered_(lowered), device_(device) {}

  PredictedMemory of_steps(int threads) {
    for (const Step& step : lowered_.steps) {
      if (!step.plan) {
        memory_.values = std::max(memory_.values, interpreted(step));
        continue;
      }
      plans_.insert(step.plan->text());
      KernelArgs args{.dims = step.dims};
      scratch_ = std::max(scratch_, launch(device_, *step.plan, args).scratch_bytes);
      shared_ = std::max(shared_, step.shared_bytes);
      for (const PointerBinding& pointer : step->pointers) add_weights(*step.plan, pointer);
    }
    memory_.panels += (memory_.panels / kStretch + 1) * kHugePage;
    memory_.weight_pages += laid_out_at_once_;
    memory_.arena = shared_;
    memory_.scratch = scratch_ * device_.scratch_areas(threads);
    memory_.values += inputs_and_outputs();
    memory_.code = device_.compile_bytes(threads, std::ssize(plans_));
    return memory_;
  }

 private:
  const Tensor* constant(ValueId v) const { return v == kNone ? nullptr : graph_.constant(holder(v)); }
  ValueId holder(ValueId v) const { return lowered_.alias_of[static_cast<size_t>(v)]; }

  void add_weights(const KernelPlan& plan, const PointerBinding& pointer) {
    const Tensor* weights = constant(pointer.value);
    if (!weights) return;
    if (pointer.plane != PointerBinding::Plane::prepacked) {
      if (direct_.insert(holder(pointer.value)).second) memory_.weight_pages += weights->bytes();
      return;
    }
    const Prepacking& layout = prepacking(device_, plan);
    if (panels_.emplace(holder(pointer.value), layout.key(device_, plan)).second)
      memory_.panels += layout.bytes(device_, plan);
    // As they lie, and as f32 where a class decodes them first. Pieces in another order are smaller.
    laid_out_at_once_ = std::max(laid_out_at_once_, weights->bytes() + 4 * weights->elements());
  }

  // The reference rules compute in double, from copies of their operands in double.
  int64_t interpreted(const Step& step) {
    int64_t bytes = 0;
    for (NodeId n : step->group.nodes) {
      const Node& node = graph_.node(n);
      for (ValueId v : node.operands)
        if (v != kNone) bytes += elements_of(v) * 16;
      for (ValueId v : node.results) bytes += elements_of(v) * 16;
      for (ValueId v : node.operands)
        if (const Tensor* weights = constant(v); weights && direct_.insert(holder(v)).second)
          memory_.weight_pages += weights->bytes();
    }
    return bytes;
  }

  int64_t elements_of(ValueId v) const {
    const TensorType& type = graph_.type(v);
    return type.is_static() ? element_count(constant_shape(type.shape)) : 0;
  }

  // Outputs twice: in the arena, which is counted, and as tensors of their own, as f64 while they are described.
  int64_t inputs_and_outputs() const {
    int64_t bytes = 0;
    for (ValueId v : graph_.inputs()) bytes += bytes_in_memory(graph_.type(v)) + elements_of(v) * 8;
    for (const Output& output : graph_.outputs())
      bytes += bytes_in_memory(graph_.type(output.value)) + elements_of(output.value) * 8;
    return bytes;
  }

  const Graph& graph_;
  const LoweredGraph& lowered_;
  const Device& device_;
  PredictedMemory memory_;
  std::set<ValueId> direct_;
  std::set<std::pair<ValueId, std::string>> panels_;
  std::set<std::string> plans_;
  int64_t scratch_ = 0, shared_ = 0, laid_out_at_once_ = 0;
};

}  // namespace

PredictedMemory predict_memory(const Graph& graph, const LoweredGraph& lowered, const Arena& arena,
                               const Device& device, int threads, int64_t opened_bytes) {
  PredictedMemory memory = Account(graph, lowered, device).of_steps(threads);
  memory.opened = opened_bytes;
  memory.arena += arena.bytes;
  return memory;
}

}  // namespace hone
