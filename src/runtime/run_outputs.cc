#include "runtime/run_outputs.h"

#include "runtime/argument_pointers.h"
#include "runtime/drained.h"

namespace hone {
namespace {

// Of an update, over what it updates.
void updated_memory(const RunPlan& plan, const Tensor& updated, bool is_lent, const Workspace& workspace,
                    RunPlan::Planes& planes) {
  for (size_t p = 0; p < kPlanes; ++p) {
    const Buffer& plane = *updated.buffers()[p];
    const bool stays = is_lent && plan.is_here(plane) && plane.is_unique();
    planes[p] = stays || plane.size() == 0 ? plane : brought_here(plan, plane, workspace);
  }
}

// Where the caller wants it, as far as the device can write there.
Buffer viewed_memory(const RunPlan& plan, ValueId v, const OutputView& view, const Workspace& workspace) {
  const bool is_apart = plan.strides_of(v).has_value();
  CHECK(view.strides.has_value() == is_apart);
  if (is_apart) return Buffer(nullptr, view.bytes.subspan(static_cast<size_t>(view.first() - view.bytes.data())));
  return plan.on_host ? Buffer(nullptr, view.bytes) : workspace.allocate(view.bytes.size());
}

// `read`: null where outputs stay where they are computed.
Tensor computed_output(const RunPlan& plan, const Output& output, const RunPlan::Planes& memory, Queue& queue,
                       const RunPlan::Planes* read) {
  const bool stays = !read || output.updates != kNone;
  for (size_t p = 0; p < kPlanes && !stays; ++p)
    queue.read(memory[p].address(), {(*read)[p].address(), (*read)[p].size()});
  Tensor result = plan.tensor_of(output.value, stays ? memory : *read);
  if (!result.is_packed() || output.updates != kNone) return result;
  queue.synchronise();
  return unpack(result);
}

// What is an input, a constant, or shares the memory of another output.
Tensor copied_output(const RunPlan& plan, const Output& output, const RunValues& values) {
  if (const Tensor* own = plan.constant(output.value)) {
    if (own->is_packed() && output.updates == kNone) return unpack(*own);
    if (own->dtype() == DType::string) return *own;
  }
  const Tensor shared = values.view(output.value);
  RunPlan::Planes planes;
  for (size_t p = 0; p < kPlanes; ++p) planes[p] = Buffer::copy_of(shared.buffers()[p]->bytes());
  return plan.tensor_of(output.value, std::move(planes));
}

}  // namespace

void place_outputs(const RunPlan& plan, const std::map<std::string, Tensor>& inputs,
                   const std::map<std::string, Tensor>* lent, const OutputViews& given, const Workspace& workspace,
                   std::vector<RunPlan::Planes>& memory) {
  const Graph& graph = plan.graph();
  memory.resize(graph.outputs().size());
  for (const auto& [output, input] : plan.arena.overwritten)
    updated_memory(plan, inputs.at(graph.value(input).label), lent != nullptr, workspace, memory[output]);
  for (const Output& output : graph.outputs())
    if (const auto view = given.find(output.label); view != given.end())
      check_fits(view->first, view->second, graph.type(output.value).dtype, plan.sizes.shape(output.value));
  for (const auto& [value, i] : plan.arena.outputs) {
    if (memory[i][0].size() > 0) continue;
    const ValueId v = graph.outputs()[i].value;
    if (const auto view = given.find(graph.outputs()[i].label); view != given.end()) {
      memory[i][0] = viewed_memory(plan, v, view->second, workspace);
      continue;
    }
    const PlaneSizes sizes = plan.sizes_of(v);
    for (size_t p = 0; p < kPlanes; ++p) memory[i][p] = workspace.allocate(static_cast<size_t>(sizes[p]));
  }
}

std::vector<RunPlan::Planes> memory_of_callers(const RunPlan& plan, std::span<const RunPlan::Planes> memory,
                                               const OutputViews& given) {
  std::vector<RunPlan::Planes> read(plan.on_host ? 0 : memory.size());
  for (size_t i = 0; i < read.size(); ++i) {
    const Output& output = plan.graph().outputs()[i];
    if (output.updates != kNone) continue;
    const auto view = given.find(output.label);
    for (size_t p = 0; p < kPlanes; ++p) {
      if (p == 0 && view != given.end()) read[i][p] = Buffer(nullptr, view->second.bytes);
      else read[i][p] = Buffer::uninitialised(memory[i][p].size());
    }
  }
  return read;
}

void drop_overwritten(const RunPlan& plan, std::span<const RunPlan::Planes> memory,
                      std::map<std::string, Tensor>& lent) {
  for (const auto& [output, input] : plan.arena.overwritten) {
    const auto found = lent.find(plan.graph().value(input).label);
    if (found == lent.end()) continue;
    bool is_written_over = false;
    for (size_t p = 0; p < kPlanes; ++p) {
      const Buffer& plane = memory[output][p];
      is_written_over |= plane.size() > 0 && plane.address() == found->second.buffers()[p]->address();
    }
    if (is_written_over) lent.erase(found);
  }
}

std::vector<Tensor> results_of_run(const RunPlan& plan, std::span<const RunPlan::Planes> memory,
                                   std::span<const RunPlan::Planes> read, const RunValues& values) {
  std::vector<Tensor> results;
  results.reserve(plan.graph().outputs().size());
  for (size_t i = 0; i < plan.graph().outputs().size(); ++i) {
    const Output& output = plan.graph().outputs()[i];
    const RunPlan::Place& place = plan.place(output.value);
    const bool is_own = place.kind == RunPlan::Place::Kind::output && static_cast<size_t>(place.offset) == i;
    if (!is_own) results.push_back(copied_output(plan, output, values));
    else if (plan.strides_of(output.value)) results.emplace_back();  // only the caller knows what else lies there
    else results.push_back(computed_output(plan, output, memory[i], values.queue(), read.empty() ? nullptr : &read[i]));
  }
  values.queue().synchronise();
  return results;
}

}  // namespace hone
