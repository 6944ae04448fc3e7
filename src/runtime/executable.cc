#include "runtime/executable.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/clock.h"
#include "base/memory_limit.h"
#include "base/stop.h"
#include "base/text.h"
#include "base/threads.h"
#include "ops/evaluate.h"
#include "runtime/check_finite.h"

namespace hone {
namespace {

// Nothing that was asked of the queue is under way when this ends.
struct Drained {
  Queue& queue;
  ~Drained() {
    try {
      queue.synchronise();
    } catch (...) {  // what made the run end is told already
    }
  }
};

std::string megabytes(int64_t bytes) { return human_bytes(static_cast<double>(bytes)); }

size_t index_of(PointerBinding::Plane plane) {
  switch (plane) {
    case PointerBinding::Plane::scales:
      return 1;
    case PointerBinding::Plane::zero_points:
      return 2;
    case PointerBinding::Plane::global:
      return 3;
    default:
      return 0;
  }
}

}  // namespace

Executable::Executable(std::shared_ptr<PreparedGraph> prepared, RunSizes sizes, SharedKernels& shared, int64_t held)
    : device_(shared.device),
      prepared_(std::move(prepared)),
      sizes_(std::move(sizes)),
      lowered_(prepared_->place(sizes_)),
      own_weights_(*shared.device, shared.threads),
      parameters_(&shared.parameters),
      host_parameters_(shared.on_host ? &shared.on_host->parameters : nullptr),
      threads_(shared.threads),
      scratch_areas_(device_->scratch_areas(threads_)),
      host_(shared.on_host ? shared.on_host->device : nullptr) {
  if (host_) host_weights_.emplace(*host_, threads_);
  place_values();
  find_last_looks();
  plan_calls();
  plan_host_steps();
  require_memory_for_runs(shared, held);
  find_code(shared);
  for (size_t i = 0; i < lowered_.steps.size(); ++i) {
    const Step& step = lowered_.steps[i];
    if (!step.plan) continue;
    check_stop();
    for (size_t p = 0; p < step->pointers.size(); ++p)
      if (step->pointers[p].plane != PointerBinding::Plane::none) prepare_pointer(i, static_cast<int>(p), shared);
  }
}

const Tensor* Executable::constant(ValueId v) const {
  const Tensor* own = graph().constant(v);
  return own ? own : sizes_.known(v);
}

// Of results without elements, by an op that could find no fault in its operands' values.
bool Executable::computes_nothing(const Step& step) const {
  const Node& node = graph().node(step->group.nodes[0]);
  const auto looks_at_values = [](const KernelDef* kernel) { return kernel->trusted.fault != nullptr; };
  if (step->group.kernels.empty() || node.op->moves || std::ranges::any_of(step->group.kernels, looks_at_values))
    return false;
  return std::ranges::all_of(node.results, [&](ValueId v) { return bytes_of(v) == 0; });
}

void Executable::place_values() {
  const Graph& graph = this->graph();
  places_.resize(graph.value_capacity());
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const ValueId v = graph.inputs()[i];
    places_[static_cast<size_t>(v)] =
        sizes_.known(v) ? Place{Place::Kind::constant, 0} : Place{Place::Kind::input, static_cast<int64_t>(i)};
  }
  for (const Step& step : lowered_.steps)
    for (ValueId v : step->reads)
      if (graph.constant(holder(v))) places_[static_cast<size_t>(holder(v))] = {Place::Kind::constant, 0};
  plan_ = plan_arena(graph, lowered_, sizes_);
  shared_offset_ = plan_.bytes;
  for (const Step& step : lowered_.steps)
    plan_.bytes = std::max(plan_.bytes, checked_add(shared_offset_, step.shared_bytes));
  for (const auto& [value, offset] : plan_.offsets) places_[static_cast<size_t>(value)] = {Place::Kind::arena, offset};
  for (const auto& [value, output] : plan_.outputs)
    places_[static_cast<size_t>(value)] = {Place::Kind::output, static_cast<int64_t>(output)};
}

void Executable::find_last_looks() {
  std::map<ValueId, size_t> last, outputs;
  for (size_t i = 0; i < lowered_.steps.size(); ++i) {
    for (ValueId v : lowered_.steps[i]->reads) last[holder(v)] = i;
    for (ValueId v : lowered_.steps[i]->writes) last[holder(v)] = i;
  }
  for (const Output& output : graph().outputs()) ++outputs[holder(output.value)];
  for (const auto& [value, i] : plan_.outputs)
    if (graph().outputs()[i].updates != kNone && outputs[value] == 1 && last.contains(value))
      written_.push_back({last.at(value), i});
  std::ranges::sort(written_, {}, &Written::step);
}

// Of a step that copies, whether there is nothing to do.
bool Executable::is_in_place(const Step& step) const {
  if (!step->copies) return false;
  const ValueId from = holder(step->reads[0]), to = holder(step->writes[0]);
  const Place &source = places_[static_cast<size_t>(from)], &target = places_[static_cast<size_t>(to)];
  if (target.kind == Place::Kind::output)
    return std::ranges::any_of(plan_.overwritten, [&](const Arena::Overwritten& each) {
      return each.input == from && static_cast<int64_t>(each.output) == target.offset;
    });
  return source.kind == Place::Kind::arena && target.kind == Place::Kind::arena && source.offset == target.offset;
}

void Executable::plan_calls() {
  ready_.resize(lowered_.steps.size());
  args_.resize(lowered_.steps.size());
  for (size_t i = 0; i < lowered_.steps.size(); ++i) {
    const Step& step = lowered_.steps[i];
    Ready& ready = ready_[i];
    if (step.plan) {
      args_[i].dims = step.dims;
      ready.call = launch(device_of(step), *step.plan, args_[i]);
      if (ready.call.items > 0 && !is_in_place(step)) ready.how = How::kernel;
      if (ready.how == How::kernel && step.plan->kernel().trusted.fault) {
        if (trusts_given_values(graph(), lowered_, step)) checked_first_.push_back(i);
        else ready.how = How::checked;
      }
      int64_t& scratch = step.on_host() ? host_scratch_bytes_ : scratch_bytes_;
      scratch = std::max(scratch, ready.call.scratch_bytes);
      CHECK(step->pointers.size() <= args_[i].pointers.size(), "step {} has {} pointers", step->name,
            step->pointers.size());
    } else if (!computes_nothing(step)) {
      ready.how = How::interpreted;
      const Node& node = graph().node(step->group.nodes[0]);
      Interpreted& interpreted = interpreted_[i];
      interpreted.attributes = substituted(node.attributes, sizes_.bindings());
      for (ValueId v : node.results) {
        interpreted.results.push_back(graph().type(v));
        interpreted.results.back().shape = to_shape(sizes_.shape(v));
      }
    }
  }
}

void Executable::plan_host_steps() {
  int64_t passed = 0;  // from one step of a group to the next, before the copies
  for (const Step& step : lowered_.steps)
    if (is_copied(step)) passed = std::max(passed, checked_add(step.shared_bytes, 63) / 64 * 64);
  for (size_t i = 0; i < lowered_.steps.size(); ++i) {
    if (!is_copied(lowered_.steps[i])) continue;
    const HostStep& planned = host_steps_.emplace(i, host_step(graph(), lowered_, i, sizes_, passed)).first->second;
    host_area_bytes_ = std::max(host_area_bytes_, planned.area_bytes);
  }
}

int64_t Executable::host_bytes() const {
  return checked_add(host_area_bytes_, host_ ? checked_mul(host_scratch_bytes_, host_->scratch_areas(threads_)) : 0);
}

int64_t Executable::output_bytes() const {
  int64_t bytes = 0;
  for (const Output& output : graph().outputs()) bytes = checked_add(bytes, bytes_of(output.value));
  for (const Arena::Overwritten& each : plan_.overwritten) bytes -= bytes_of(each.input);
  return bytes;
}

int64_t Executable::laid_out_bytes() const {
  int64_t bytes = 0;
  std::map<std::string, int64_t> kept;  // by what ParameterStore knows it by
  for (const LaidOut& each : laid_out_) {
    const Step& step = lowered_.steps[each.step];
    const Device& device = device_of(step);
    const int64_t own = prepacking(device, *step.plan).bytes(device, *step.plan);
    if (each.is_kept)
      kept[fmt::format("{} {}", device.name(), layout_key(device, *step.plan, each.value, sizes_.shape(each.seen)))] =
          own;
    else bytes = checked_add(bytes, own);
  }
  for (const auto& [key, own] : kept) bytes = checked_add(bytes, own);
  return bytes;
}

// All that a run takes from the system, as the plan has it.
void Executable::require_memory_for_runs(const SharedKernels& shared, int64_t held) const {
  const int64_t outputs = output_bytes();
  int64_t laid_out = 0, changing = 0;
  std::map<std::string, int64_t> layouts;
  for (const Step& step : lowered_.steps) {
    if (!step.plan) continue;
    const SharedKernels& kernels = shared.of(step);
    if (step.lasting && kernels.lasting.contains(step.plan->identity())) continue;
    const Device& device = device_of(step);
    for (const PointerBinding& pointer : step->pointers)
      if (pointer.plane == PointerBinding::Plane::prepacked) {
        const ValueId weights = holder(pointer.value);
        if (!constant(weights))
          changing = checked_add(changing, prepacking(device, *step.plan).bytes(device, *step.plan));
        else if (const WeightStore& store = weights < shared.values ? kernels.weights : own_weights_of(step);
                 const auto missing = store.missing(*step.plan, weights, sizes_.shape(pointer.value)))
          layouts[fmt::format("{} {}", device.name(), missing->key)] = missing->bytes;
      }
  }
  for (const auto& [key, bytes] : layouts) laid_out = checked_add(laid_out, bytes);
  laid_out = checked_add(laid_out, changing);
  const int64_t areas = checked_add(checked_mul(scratch_bytes_, scratch_areas_), host_bytes()),
                whole = checked_add(checked_add(plan_.bytes, areas), checked_add(laid_out, outputs)),
                more = std::max<int64_t>(checked_sub(whole, std::min(held, checked_add(plan_.bytes, areas))), 0);
  require_memory(
      more,
      fmt::format("a run of these shapes ({} for what it computes, {} of scratch memory for {} threads, "
                  "{} of weights laid out, {} of outputs)",
                  megabytes(plan_.bytes), megabytes(areas), scratch_areas_, megabytes(laid_out), megabytes(outputs)));
}

void Executable::find_code(SharedKernels& shared) {
  find_code_of(shared, false);
  if (shared.on_host) find_code_of(*shared.on_host, true);
}

void Executable::find_code_of(SharedKernels& shared, bool on_host) {
  std::vector<KernelPlan> plans;
  std::vector<size_t> missing;
  for (size_t i = 0; i < lowered_.steps.size(); ++i) {
    const Step& step = lowered_.steps[i];
    if (!step.plan || step.on_host() != on_host) continue;
    const auto found = step.lasting ? shared.lasting.find(step.plan->identity()) : shared.lasting.end();
    if (found != shared.lasting.end()) {
      ready_[i].code = found->second.code;
      continue;
    }
    plans.push_back(*step.plan);
    missing.push_back(i);
  }
  if (plans.empty()) return;
  const std::vector<Code> codes = shared.compiler->compile(plans);
  for (size_t k = 0; k < missing.size(); ++k) {
    ready_[missing[k]].code = codes[k];
    if (lowered_.steps[missing[k]].lasting)
      shared.lasting.emplace(plans[k].identity(), SharedKernels::Lasting{plans[k], codes[k]});
  }
}

void Executable::prepare_pointer(size_t i, int position, SharedKernels& shared) {
  const Step& step = lowered_.steps[i];
  const PointerBinding& binding = step->pointers[static_cast<size_t>(position)];
  SharedKernels& kernels = shared.of(step);
  if (binding.plane == PointerBinding::Plane::shared) {
    if (is_copied(step)) host_pointers_.push_back({i, position, binding.byte_offset});
    else arena_pointers_.push_back({i, position, shared_offset_ + binding.byte_offset});
    return;
  }
  if (binding.plane == PointerBinding::Plane::made) {
    const Tensor& table = step->made[static_cast<size_t>(binding.byte_offset)];
    args_[i].pointers[static_cast<size_t>(position)] = kernels.constant(table.data());
    return;
  }
  const ValueId v = holder(binding.value);
  const Place& place = places_[static_cast<size_t>(v)];
  const size_t plane = index_of(binding.plane);
  if (binding.plane == PointerBinding::Plane::prepacked && place.kind != Place::Kind::constant) {
    laid_out_.push_back({i, position, v, binding.value, !is_laid_out_in_runs(graph(), v)});
  } else if (place.kind == Place::Kind::constant) {
    std::byte* bytes = binding.plane == PointerBinding::Plane::prepacked
                           ? laid_out(step, position, binding.value, kernels)
                           : kernels.constant(*constant(v)->buffers()[plane]);
    args_[i].pointers[static_cast<size_t>(position)] = bytes + binding.byte_offset;
  } else if (is_copied(step)) {
    if (const HostStep::Value* value = host_steps_.at(i).find(v))
      host_pointers_.push_back({i, position, value->offset + plane_offsets(value->sizes)[plane] + binding.byte_offset});
  } else if (place.kind == Place::Kind::input) {
    input_pointers_.push_back({static_cast<size_t>(place.offset) * kPlanes + plane, i, position, binding.byte_offset});
  } else if (place.kind == Place::Kind::output) {
    output_pointers_.push_back({static_cast<size_t>(place.offset) * kPlanes + plane, i, position, binding.byte_offset});
  } else if (place.kind == Place::Kind::arena) {
    arena_pointers_.push_back({i, position, place.offset + plane_offsets(sizes_of(v))[plane] + binding.byte_offset});
  }
}

std::byte* Executable::laid_out(const Step& step, int position, ValueId seen, SharedKernels& shared) {
  const ValueId v = holder(seen);
  const auto made_by = [&](WeightStore& store) { return store.get(*step.plan, v, seen_as(seen, *constant(v))); };
  if (v >= shared.values) return made_by(own_weights_of(step));
  if (!step.lasting) return made_by(shared.weights);
  std::byte*& known = shared.lasting.at(step.plan->identity()).weights[static_cast<size_t>(position)];
  if (!known) known = made_by(shared.weights);
  return known;
}

std::byte* Executable::address(ValueId v, size_t plane, const Workspace& workspace) const {
  const Place& place = places_[static_cast<size_t>(holder(v))];
  const size_t position = static_cast<size_t>(place.offset) * kPlanes + plane;
  switch (place.kind) {
    case Place::Kind::arena:
      return workspace.arena() + place.offset + plane_offsets(sizes_of(v))[plane];
    case Place::Kind::input:
      return const_cast<std::byte*>(workspace.bound.inputs[position]);
    case Place::Kind::output:
      return workspace.bound.outputs[position];
    case Place::Kind::constant:
    case Place::Kind::none:
      break;
  }
  CHECK(false, "value %{} has no memory", graph().value(v).name);
}

Tensor Executable::tensor_of(ValueId v, OutputMemory planes) const {
  const TensorType& type = graph().type(v);
  const std::span<const int64_t> sizes = sizes_.shape(v);
  std::vector<int64_t> shape(sizes.begin(), sizes.end());
  if (!type.is_packed()) return Tensor(type.dtype, std::move(shape), std::move(planes[0]));
  return Tensor::packed(*type.format, std::move(shape), std::move(planes[0]), std::move(planes[1]),
                        std::move(planes[2]), std::move(planes[3]));
}

std::optional<Strides> Executable::strides_of(ValueId v) const {
  const auto found = lowered_.strides.find(v);
  return found == lowered_.strides.end() ? std::nullopt : std::optional(Strides{.strides = found->second});
}

// For the host to read: where the value lies, or a copy.
Tensor Executable::view(ValueId v, const Workspace& workspace) const {
  if (const Tensor* own = constant(v)) return *own;
  if (const std::optional<Strides> strides = strides_of(v)) {  // memory of callers, and the host's
    Buffer dense = Buffer::uninitialised(static_cast<size_t>(bytes_of(v)));
    copy_elements(sizes_.shape(v), size_bytes(graph().type(v).dtype), address(v, 0, workspace), *strides,
                  dense.mutable_bytes().data(), Strides::dense(sizes_.shape(v)));
    return tensor_of(v, {std::move(dense)});
  }
  const PlaneSizes sizes = sizes_of(v);
  OutputMemory planes;
  for (size_t p = 0; p < kPlanes; ++p) {
    if (sizes[p] == 0 && p > 0) continue;
    std::byte* const from = address(v, p, workspace);
    const auto bytes = static_cast<size_t>(sizes[p]);
    if (device_->is_host()) planes[p] = Buffer(nullptr, {from, bytes});
    else planes[p] = Buffer::uninitialised(bytes), workspace.queue().read(from, planes[p].mutable_bytes());
  }
  workspace.queue().synchronise();
  return tensor_of(v, std::move(planes));
}

// What a value is whose memory `held` has: itself, or what it is a view of. Packed tensors have one shape.
Tensor Executable::seen_as(ValueId v, const Tensor& held) const {
  const std::span<const int64_t> shape = sizes_.shape(v);
  if (held.is_packed() || std::ranges::equal(held.shape(), shape)) return held;
  return held.reshaped({shape.begin(), shape.end()});
}

void Executable::interpret(size_t i, const Workspace& workspace) const {
  const Node& node = graph().node(lowered_.steps[i]->group.nodes[0]);
  const Interpreted& known = interpreted_.at(i);
  std::vector<Tensor> operands(node.operands.size());
  std::vector<const Tensor*> pointers(node.operands.size(), nullptr);
  for (size_t o = 0; o < operands.size(); ++o)
    if (node.operands[o] != kNone) {
      operands[o] = view(node.operands[o], workspace);
      pointers[o] = &operands[o];
    }
  const std::vector<Tensor> results = evaluate_op(*node.op, {pointers, known.attributes, known.results});
  for (size_t r = 0; r < results.size(); ++r) {
    const ValueId v = node.results[r];
    if (const std::optional<Strides> strides = strides_of(v)) {
      CHECK(std::ranges::equal(results[r].shape(), sizes_.shape(v)), "{} gave a result of another size", node.op->name);
      copy_elements(sizes_.shape(v), size_bytes(graph().type(v).dtype), results[r].data().bytes().data(),
                    Strides::dense(sizes_.shape(v)), address(v, 0, workspace), *strides);
      continue;
    }
    const PlaneSizes sizes = sizes_of(node.results[r]);
    for (size_t p = 0; p < kPlanes; ++p) {
      const auto bytes = results[r].buffers()[p]->bytes();
      CHECK(static_cast<int64_t>(bytes.size()) == sizes[p], "{} gave a result of another size", node.op->name);
      workspace.queue().write(bytes.empty() ? nullptr : address(node.results[r], p, workspace), bytes);
    }
  }
  workspace.queue().synchronise();
}

void Executable::check_trusted(size_t i, const Workspace& workspace) const {
  const Step& step = lowered_.steps[i];
  const TrustedOperands& trusted = step.plan->kernel().trusted;
  const auto binding = [&](int position) -> const PointerBinding& {
    return step->pointers[static_cast<size_t>(position)];
  };
  const auto operand = [&](int position) -> OperandNames {
    const Value& value = graph().value(binding(position).value);
    return {value.name, value.label};
  };
  KernelArgs args = workspace.bound.args[i];
  std::array<Tensor, std::tuple_size_v<decltype(trusted.positions)>> copies;
  for (size_t c = 0; !device_->is_host() && c < copies.size(); ++c) {
    const int position = trusted.positions[c];
    if (position < 0 || binding(position).value == kNone) continue;
    copies[c] = view(binding(position).value, workspace);
    args.pointers[static_cast<size_t>(position)] = copies[c].data().address() + binding(position).byte_offset;
  }
  const std::string fault = trusted.fault(*step.plan, args, operand);
  if (!fault.empty()) throw Error(fault);
}

void Executable::reserve(Workspace& workspace) const {
  workspace.reserve(device_, plan_.bytes, scratch_bytes_, scratch_areas_);
  if (std::ranges::any_of(lowered_.steps, &StepCall::on_host))
    workspace.host_part().reserve(host_, host_area_bytes_, host_scratch_bytes_, host_->scratch_areas(threads_));
}

bool Executable::is_here(const Buffer& buffer) const {
  return buffer.size() == 0 || buffer.memory() == (device_->is_host() ? nullptr : device_.get());
}

// A copy; of the host's memory it is whole when the queue is synchronised.
Buffer Executable::brought_here(const Buffer& plane, Queue& queue) const {
  Buffer copy = device_->allocate(plane.size());
  if (is_here(plane)) {
    queue.copy(copy.address(), plane.address(), plane.size());
    return copy;
  }
  const Buffer on_host = plane.on_host();
  queue.write(copy.address(), on_host.bytes());
  if (plane.memory()) queue.synchronise();  // before the copy on the host goes
  return copy;
}

// Of outputs that are computed in memory of their own; empty for the others. Updates that are written over what they
// update get its memory, or a copy of it where someone else looks at that.
std::vector<Executable::OutputMemory> Executable::output_memory(const NamedTensors& inputs, NamedTensors* lent,
                                                                const OutputViews& given, Queue& queue) const {
  std::vector<OutputMemory> memory(graph().outputs().size());
  for (const auto& [output, input] : plan_.overwritten) {
    const std::string& label = graph().value(input).label;
    for (size_t p = 0; p < kPlanes; ++p) {
      const Buffer& plane = *inputs.at(label).buffers()[p];
      const bool stays = lent && is_here(plane) && plane.is_unique();
      if (!stays && plane.size() > 0) memory[output][p] = brought_here(plane, queue);
      else memory[output][p] = plane;
    }
  }
  for (const Output& output : graph().outputs())
    if (const auto view = given.find(output.label); view != given.end())
      check_fits(view->first, view->second, graph().type(output.value).dtype, sizes_.shape(output.value));
  for (const auto& [value, i] : plan_.outputs) {
    if (memory[i][0].size() > 0) continue;
    const ValueId v = graph().outputs()[i].value;
    const auto view = given.find(graph().outputs()[i].label);
    if (view != given.end()) {
      const auto& bytes = view->second.bytes;
      CHECK(view->second.strides.has_value() == strides_of(v).has_value());
      if (strides_of(v))
        memory[i][0] = Buffer(nullptr, bytes.subspan(static_cast<size_t>(view->second.first() - bytes.data())));
      else memory[i][0] = device_->is_host() ? Buffer(nullptr, bytes) : device_->allocate(bytes.size());
      continue;
    }
    const PlaneSizes sizes = sizes_of(v);
    for (size_t p = 0; p < kPlanes; ++p) memory[i][p] = device_->allocate(static_cast<size_t>(sizes[p]));
  }
  return memory;
}

// Pointers into the arena change only when it has moved or another executable ran in it; those into inputs and outputs
// with every run.
void Executable::bind(const NamedTensors& inputs, const InputViews& apart, std::span<OutputMemory> outputs,
                      Workspace& workspace) const {
  Workspace::Bound& bound = workspace.bound;
  if (bound.executable != identity_) {
    bound.executable = nullptr;
    bound.args = args_;
    bound.laid_out.clear();
    for (const ArenaPointer& p : arena_pointers_)
      bound.args[p.step].pointers[static_cast<size_t>(p.position)] = workspace.arena() + p.offset;
    bound.executable = identity_;
  }
  bound.inputs.clear();
  bound.copies.clear();
  for (size_t i = 0; i < graph().inputs().size(); ++i) {
    const ValueId v = graph().inputs()[i];
    if (const auto view = apart.find(graph().value(v).label); view != apart.end()) {
      bound.inputs.push_back(view->second.first());
      bound.inputs.resize(bound.inputs.size() + kPlanes - 1, nullptr);
      continue;
    }
    const Tensor* given = sizes_.known(v) ? nullptr : &inputs.at(graph().value(v).label);
    for (size_t p = 0; p < kPlanes; ++p) {
      const Buffer* plane = given ? given->buffers()[p] : nullptr;
      if (plane && !is_here(*plane)) plane = &bound.copies.emplace_back(brought_here(*plane, workspace.queue()));
      bound.inputs.push_back(plane ? plane->address() : nullptr);
    }
  }
  bound.outputs.clear();
  for (const OutputMemory& output : outputs)
    for (const Buffer& plane : output) bound.outputs.push_back(plane.address());
  for (const auto& [output, input] : plan_.overwritten)
    for (size_t p = 0; p < kPlanes; ++p)
      bound.inputs[static_cast<size_t>(places_[static_cast<size_t>(input)].offset) * kPlanes + p] =
          bound.outputs[output * kPlanes + p];
  for (const CallerPointer& p : input_pointers_)
    bound.args[p.step].pointers[static_cast<size_t>(p.position)] =
        const_cast<std::byte*>(bound.inputs[p.which]) + p.offset;
  for (const ArenaPointer& p : host_pointers_)
    bound.args[p.step].pointers[static_cast<size_t>(p.position)] = workspace.host_part().arena() + p.offset;
  for (const CallerPointer& p : output_pointers_)
    bound.args[p.step].pointers[static_cast<size_t>(p.position)] = bound.outputs[p.which] + p.offset;
}

void Executable::lay_out_kept(const NamedTensors& inputs, Workspace& workspace) const {
  Workspace::Bound& bound = workspace.bound;
  bound.laid_out.resize(laid_out_.size());
  for (size_t l = 0; l < laid_out_.size(); ++l) {
    const LaidOut& each = laid_out_[l];
    if (!each.is_kept) continue;
    const Step& step = lowered_.steps[each.step];
    const Tensor& held = inputs.at(graph().value(each.value).label);
    ParameterStore& parameters = step.on_host() ? *host_parameters_ : *parameters_;
    bound.laid_out[l] = parameters.get(*step.plan, each.value, seen_as(each.seen, held));
    bound.args[each.step].pointers[static_cast<size_t>(each.position)] =
        bound.laid_out[l].address() + step->pointers[static_cast<size_t>(each.position)].byte_offset;
  }
}

// For a step, what has been computed since. The memory stays for the next run.
void Executable::lay_out_computed(size_t i, Workspace& workspace) const {
  Workspace::Bound& bound = workspace.bound;
  const auto first = std::ranges::lower_bound(laid_out_, i, {}, &LaidOut::step);
  for (auto each = first; each != laid_out_.end() && each->step == i; ++each) {
    if (each->is_kept) continue;
    const Step& step = lowered_.steps[i];
    const Tensor value = seen_as(each->seen, view(each->value, workspace));
    Buffer& panels = bound.laid_out[static_cast<size_t>(each - laid_out_.begin())];
    const Device& device = device_of(step);
    if (!device.is_host()) panels = device_->copied(lay_out(device, *step.plan, value, threads_));
    else if (panels.size() == 0) panels = lay_out(device, *step.plan, value, threads_);
    else prepacking(device, *step.plan).lay_out(device, *step.plan, value, threads_, panels.address());
    const auto position = static_cast<size_t>(each->position);
    bound.args[i].pointers[position] = panels.address() + step->pointers[position].byte_offset;
  }
}

void Executable::run_step(size_t i, const Workspace& workspace) const {
  const Ready& ready = ready_[i];
  if (ready.how == How::nothing) return;
  if (ready.how == How::interpreted) return interpret(i, workspace);
  const KernelArgs& args = workspace.bound.args[i];
  if (ready.how == How::checked) check_trusted(i, workspace);
  if (lowered_.steps[i].on_host()) return run_on_host(i, workspace);
  workspace.queue().launch(ready.code, args, ready.call, workspace.scratch(scratch_areas_));
}

// The host's kernel reads memory of the device where that is the host's, too, and copies otherwise.
void Executable::run_on_host(size_t i, const Workspace& workspace) const {
  static const HostStep kNothingToCopy;
  const auto found = host_steps_.find(i);
  const HostStep& step = found == host_steps_.end() ? kNothingToCopy : found->second;
  const auto on_device = [&](ValueId v, size_t plane) { return address(v, plane, workspace); };
  const Workspace& host = workspace.host_part();
  read_operands(step, on_device, workspace.queue(), host.arena());
  host.queue().launch(ready_[i].code, workspace.bound.args[i], ready_[i].call,
                      host.scratch(host_->scratch_areas(threads_)));
  host.queue().synchronise();
  write_results(step, on_device, workspace.queue(), host.arena());
}

// Updates stay on the device, what callers get is the host's.
std::vector<Tensor> Executable::outputs(std::span<const OutputMemory> memory, const OutputViews& given,
                                        const Workspace& workspace) const {
  std::vector<Tensor> outputs;
  outputs.reserve(graph().outputs().size());
  for (size_t i = 0; i < graph().outputs().size(); ++i) {
    const auto& [v, label, updates] = graph().outputs()[i];
    const Place& place = places_[static_cast<size_t>(holder(v))];
    if (place.kind == Place::Kind::output && static_cast<size_t>(place.offset) == i) {
      if (strides_of(v)) {  // only the caller knows what else lies there
        outputs.emplace_back();
        continue;
      }
      OutputMemory planes = memory[i];
      for (size_t p = 0; p < kPlanes && !device_->is_host() && updates == kNone; ++p) {
        const auto view = p == 0 ? given.find(label) : given.end();
        const std::span<std::byte> to = view != given.end() ? view->second.bytes : std::span<std::byte>();
        planes[p] = to.empty() ? Buffer::uninitialised(memory[i][p].size()) : Buffer(nullptr, to);
        workspace.queue().read(memory[i][p].address(), to.empty() ? planes[p].mutable_bytes() : to);
      }
      outputs.push_back(tensor_of(v, std::move(planes)));
      if (outputs.back().is_packed() && updates == kNone) {
        workspace.queue().synchronise();
        outputs.back() = unpack(outputs.back());
      }
    } else if (const Tensor* own = constant(v); own && own->is_packed() && updates == kNone) {
      outputs.push_back(unpack(*own));
    } else if (own && own->dtype() == DType::string) {
      outputs.push_back(*own);
    } else {
      const Tensor shared = view(v, workspace);
      OutputMemory planes;
      for (size_t p = 0; p < kPlanes; ++p) planes[p] = Buffer::copy_of(shared.buffers()[p]->bytes());
      outputs.push_back(tensor_of(v, std::move(planes)));
    }
  }
  workspace.queue().synchronise();
  return outputs;
}

std::string Executable::ops_of(const Step& step) const {
  if (is_copy(graph(), step->group.nodes[0])) return "copy";
  std::string ops;
  for (NodeId n : step->group.nodes) ops += fmt::format("{}{}", ops.empty() ? "" : "+", graph().node(n).op->name);
  return ops;
}

std::vector<std::string> Executable::weights_of(const Step& step) const {
  std::vector<std::string> labels;
  for (ValueId v : step->reads) {
    const Value& weights = graph().value(holder(v));
    if (weights.constant && !weights.label.empty()) labels.push_back(weights.label);
  }
  return labels;
}

std::vector<StepProfile> Executable::step_profiles() const {
  const Graph fixed = specialise(graph(), sizes_.bindings());
  std::vector<StepProfile> profiles;
  for (size_t i = 0; i < lowered_.steps.size(); ++i) {
    const Step& step = lowered_.steps[i];
    const auto copied = host_steps_.find(i);
    const StepWork work = work_of(fixed, step, sizes_);
    profiles.push_back(
        {.name = step->name,
         .kind = step.plan ? std::string(step.plan->kernel().name) : "interpreted",
         .ops = ops_of(step),
         .why_interpreted = step->why_interpreted,
         .flops = work.flops,
         .bytes = work.bytes,
         .weight_bytes = work.weight_bytes,
         .unit = step.plan ? speed(device_of(step), *step.plan).unit : ProductUnit::f32,
         .weights = weights_of(step),
         .why_on_host = step.why_on_host,
         .copied_bytes = copied == host_steps_.end() ? 0 : static_cast<double>(copied->second.copied_bytes)});
  }
  return profiles;
}

void Executable::require_finite_results(const Step& step, const NamedTensors& inputs,
                                        const Workspace& workspace) const {
  std::vector<ValueId> operands;
  for (ValueId v : step->reads) operands.push_back(holder(v));
  for (ValueId v : step->writes) require_finite(graph(), v, view(v, workspace), ops_of(step), operands, inputs);
}

std::vector<Tensor> Executable::run(const NamedTensors& inputs, const InputViews& apart, NamedTensors* lent,
                                    const OutputViews& views, Workspace& workspace, const Watch& watch) const {
  const Busy busy;
  Queue& queue = workspace.queue();
  std::vector<OutputMemory> memory = output_memory(inputs, watch.check ? nullptr : lent, views, queue);
  const Drained drained{queue};  // before what it reads and writes goes
  bind(inputs, apart, memory, workspace);
  lay_out_kept(inputs, workspace);
  for (size_t i : checked_first_) check_trusted(i, workspace);
  const auto mark = [&] {
    if (!watch.profile) return;
    queue.synchronise();
    watch.profile->marks_ns.push_back(steady_ns());
  };
  if (watch.profile && watch.profile->marks_ns.empty()) mark();
  auto written = written_.begin();
  const auto tell_of_written = [&](size_t step) {
    for (; watch.written && written != written_.end() && written->step == step; ++written) {
      const Output& output = graph().outputs()[written->output];
      const auto bytes = static_cast<size_t>(bytes_of(output.value));
      (*watch.written)(graph().value(output.updates).label,
                       {workspace.bound.outputs[written->output * kPlanes], bytes});
    }
  };
  std::optional<Unstoppable> changing;
  for (size_t i = 0; i < ready_.size(); ++i) {
    if (i < plan_.first_overwriting) workspace.check_step();
    else if (!changing) changing.emplace();
    lay_out_computed(i, workspace);
    run_step(i, workspace);
    mark();
    if (watch.written && device_->is_host()) tell_of_written(i);
    if (watch.check) require_finite_results(lowered_.steps[i], inputs, workspace);
  }
  return outputs(memory, views, workspace);
}

}  // namespace hone
