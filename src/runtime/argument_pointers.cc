#include "runtime/argument_pointers.h"

#include "base/stop.h"

namespace hone {
namespace {

std::byte* laid_out(const RunPlan& plan, const Step& step, int position, ValueId seen, SharedKernels& shared,
                    OwnWeights& own) {
  const ValueId v = plan.holder(seen);
  const auto made_by = [&](WeightStore& store) {
    return store.get(*step.plan, v, plan.seen_as(seen, *plan.constant(v)));
  };
  if (v >= shared.values) return made_by(own.of(step));
  if (!step.lasting) return made_by(shared.weights);
  std::byte*& known = shared.lasting.at(step.plan->identity()).weights[static_cast<size_t>(position)];
  if (!known) known = made_by(shared.weights);
  return known;
}

}  // namespace

struct ArgumentPointers::Found {
  StepCalls& calls;
  SharedKernels& shared;
  OwnWeights& own;
  RunWeights& weights;
  const HostSteps& host_steps;
};

void ArgumentPointers::find(StepCalls& calls, SharedKernels& shared, OwnWeights& own, RunWeights& weights,
                            const HostSteps& host_steps) {
  const std::vector<Step>& steps = plan_.lowered.steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!steps[i].plan) continue;
    check_stop();
    for (size_t p = 0; p < steps[i]->pointers.size(); ++p)
      if (steps[i]->pointers[p].plane != PointerBinding::Plane::none)
        find(i, static_cast<int>(p), {calls, shared.of(steps[i]), own, weights, host_steps});
  }
}

void ArgumentPointers::find(size_t i, int position, const Found& found) {
  using Kind = RunPlan::Place::Kind;
  const Step& step = plan_.lowered.steps[i];
  const PointerBinding& binding = step->pointers[static_cast<size_t>(position)];
  void*& pointer = found.calls.args[i].pointers[static_cast<size_t>(position)];
  const auto point_to_copy = [&] {
    if (const auto place = found.host_steps.place(i, binding)) host_.push_back({i, position, *place});
  };
  if (binding.plane == PointerBinding::Plane::shared) {
    if (plan_.is_copied(step)) return point_to_copy();
    arena_.push_back({i, position, plan_.shared_offset + binding.byte_offset});
    return;
  }
  if (binding.plane == PointerBinding::Plane::made) {
    const Buffer& table = step->made[static_cast<size_t>(binding.byte_offset)].data();
    pointer = step.lasting ? found.shared.constant(table) : found.own.constant(found.shared, table);
    return;
  }
  const ValueId v = plan_.holder(binding.value);
  const RunPlan::Place& place = plan_.place(v);
  const size_t plane = index_of(binding.plane);
  const CallerPointer of_caller{static_cast<size_t>(place.offset) * kPlanes + plane, i, position, binding.byte_offset};
  if (binding.plane == PointerBinding::Plane::prepacked && place.kind != Kind::constant) {
    found.weights.add(i, position, binding.value);
  } else if (place.kind == Kind::constant) {
    const auto as_it_is = [&] {
      const Buffer& whole = *plan_.constant(v)->buffers()[plane];
      return v < found.shared.values ? found.shared.constant(whole) : found.own.constant(found.shared, whole);
    };
    std::byte* const bytes = binding.plane == PointerBinding::Plane::prepacked
                                 ? laid_out(plan_, step, position, binding.value, found.shared, found.own)
                                 : as_it_is();
    pointer = bytes + binding.byte_offset;
  } else if (plan_.is_copied(step)) {
    point_to_copy();
  } else if (place.kind == Kind::input) {
    inputs_.push_back(of_caller);
    reads_[static_cast<size_t>(place.offset)] = true;
  } else if (place.kind == Kind::output) {
    outputs_.push_back(of_caller);
  } else if (place.kind == Kind::arena) {
    arena_.push_back({i, position, place.offset + plane_offsets(plan_.sizes_of(v))[plane] + binding.byte_offset});
  }
}

Buffer brought_here(const RunPlan& plan, const Buffer& plane, const Workspace& workspace) {
  Buffer copy = workspace.allocate(plane.size());
  Queue& queue = workspace.queue();
  if (plan.is_here(plane)) {
    queue.copy(copy.address(), plane.address(), plane.size());
    return copy;
  }
  const Buffer on_host = plane.on_host();
  queue.write(copy.address(), on_host.bytes());
  if (plane.memory()) queue.synchronise();  // before the copy on the host goes
  return copy;
}

void ArgumentPointers::bind_inputs(const std::map<std::string, Tensor>& inputs, const InputViews& apart,
                                   std::vector<Buffer>& copies, Workspace& workspace) const {
  Workspace::Bound& bound = workspace.bound;
  const Graph& graph = plan_.graph();
  bound.inputs.clear();
  std::vector<bool> brought = reads_;
  for (const auto& [output, input] : plan_.arena.overwritten)  // the memory of its update has a copy of it
    brought[static_cast<size_t>(plan_.place(input).offset)] = false;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const ValueId v = graph.inputs()[i];
    if (const auto view = apart.find(graph.value(v).label); view != apart.end()) {
      bound.inputs.push_back(view->second.first());
      bound.inputs.resize(bound.inputs.size() + kPlanes - 1, nullptr);
      continue;
    }
    const Tensor* given = plan_.sizes.known(v) ? nullptr : &inputs.at(graph.value(v).label);
    for (size_t p = 0; p < kPlanes; ++p) {
      const Buffer* plane = given ? given->buffers()[p] : nullptr;
      const bool is_away = plane && !plan_.is_here(*plane);
      if (is_away && (brought[i] || plane->memory()))
        plane = &copies.emplace_back(brought_here(plan_, *plane, workspace));
      else if (is_away) plane = nullptr;
      bound.inputs.push_back(plane ? plane->address() : nullptr);
    }
  }
}

// Pointers into the arena change only when it has moved or another executable ran in it; those into inputs and outputs
// with every run.
bool ArgumentPointers::bind(const StepCalls& calls, const std::map<std::string, Tensor>& inputs,
                            const InputViews& apart, std::span<const RunPlan::Planes> outputs,
                            std::vector<Buffer>& copies, Workspace& workspace) const {
  Workspace::Bound& bound = workspace.bound;
  std::shared_ptr<const void> last = std::move(bound.executable);
  const bool is_known = last == identity_;
  if (!is_known) {
    bound.args = calls.args;
    bound.laid_out.clear();
    bound.recording = nullptr;
    for (const ArenaPointer& p : arena_)
      bound.args[p.step].pointers[static_cast<size_t>(p.position)] = workspace.arena() + p.offset;
  }
  bind_inputs(inputs, apart, copies, workspace);
  bound.outputs.clear();
  for (const RunPlan::Planes& output : outputs)
    for (const Buffer& plane : output) bound.outputs.push_back(plane.address());
  for (const auto& [output, input] : plan_.arena.overwritten)
    for (size_t p = 0; p < kPlanes; ++p)
      bound.inputs[static_cast<size_t>(plan_.place(input).offset) * kPlanes + p] = bound.outputs[output * kPlanes + p];
  for (const CallerPointer& p : inputs_)
    bound.args[p.step].pointers[static_cast<size_t>(p.position)] =
        const_cast<std::byte*>(bound.inputs[p.which]) + p.offset;
  for (const ArenaPointer& p : host_)
    bound.args[p.step].pointers[static_cast<size_t>(p.position)] = workspace.host_part().arena() + p.offset;
  for (const CallerPointer& p : outputs_)
    bound.args[p.step].pointers[static_cast<size_t>(p.position)] = bound.outputs[p.which] + p.offset;
  if (!is_known) last = identity_;
  bound.executable = std::move(last);
  return is_known;
}

}  // namespace hone
