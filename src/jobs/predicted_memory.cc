#include "jobs/predicted_memory.h"

#include <algorithm>
#include <set>

#include "device/device.h"
#include "runtime/host_step.h"

namespace hone {
namespace {

// Laid-out weights share stretches of huge pages, the last of which is not full.
constexpr int64_t kHugePage = int64_t{2} << 20, kStretch = int64_t{16} << 20;

class Account {
 public:
  Account(const Graph& graph, const LoweredGraph& lowered, const LowerOptions& options)
      : graph_(graph), lowered_(lowered), options_(options) {}

  PredictedMemory of_steps(int threads) {
    for (size_t s = 0; s < lowered_.steps.size(); ++s) {
      const Step& step = lowered_.steps[s];
      if (!step.plan) {
        memory_.values = std::max(memory_.values, interpreted(step));
        continue;
      }
      Part& part = step.on_host() ? host_ : own_;
      part.plans.insert(step.plan->text());
      KernelArgs args{.dims = step.dims};
      part.scratch = std::max(part.scratch, launch(options_.device_of(step), *step.plan, args).scratch_bytes);
      shared_ = std::max(shared_, step.shared_bytes);
      copied_ = std::max(copied_, copied_bytes(*options_.device, graph_, lowered_, s, sizes_));
      for (const PointerBinding& pointer : step->pointers) add_weights(step, pointer);
    }
    memory_.panels += (memory_.panels / kStretch + 1) * kHugePage;
    memory_.weight_pages += laid_out_at_once_;
    memory_.arena = shared_;
    add_part(own_, *options_.device, threads);
    if (!host_.plans.empty()) add_part(host_, *options_.host.device, threads);
    memory_.values += inputs_and_outputs() + copied_;
    return memory_;
  }

 private:
  // What one device has of the steps.
  struct Part {
    std::set<std::string> plans;
    int64_t scratch = 0;
  };

  void add_part(const Part& part, const Device& device, int threads) {
    memory_.scratch += part.scratch * device.scratch_areas(threads);
    memory_.code += device.compile_bytes(threads, std::ssize(part.plans));
  }

  const Tensor* constant(ValueId v) const { return v == kNone ? nullptr : graph_.constant(holder(v)); }
  ValueId holder(ValueId v) const { return lowered_.alias_of[static_cast<size_t>(v)]; }

  void add_weights(const Step& step, const PointerBinding& pointer) {
    const Tensor* weights = constant(pointer.value);
    if (!weights) return;
    if (pointer.plane != PointerBinding::Plane::prepacked) {
      if (direct_.insert(holder(pointer.value)).second) memory_.weight_pages += weights->bytes();
      return;
    }
    const Device& device = options_.device_of(step);
    const Prepacking& layout = prepacking(device, *step.plan);
    if (panels_.emplace(holder(pointer.value), layout.key(device, *step.plan)).second)
      memory_.panels += layout.bytes(device, *step.plan);
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
  const LowerOptions& options_;
  const RunSizes sizes_{graph_};
  PredictedMemory memory_;
  std::set<ValueId> direct_;
  std::set<std::pair<ValueId, std::string>> panels_;
  Part own_, host_;
  int64_t shared_ = 0, copied_ = 0, laid_out_at_once_ = 0;
};

}  // namespace

PredictedMemory predict_memory(const Graph& graph, const LoweredGraph& lowered, const Arena& arena,
                               const LowerOptions& options, int threads, int64_t opened_bytes) {
  PredictedMemory memory = Account(graph, lowered, options).of_steps(threads);
  memory.opened = opened_bytes;
  memory.arena += arena.bytes;
  return memory;
}

}  // namespace hone
