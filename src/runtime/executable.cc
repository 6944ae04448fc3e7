#include "runtime/executable.h"

#include <algorithm>
#include <chrono>
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

// The rows of a call on one thread, so that it can be stopped: tens of milliseconds of work.
constexpr int64_t kChunksAtOnce = 1024;

std::string megabytes(int64_t bytes) { return human_bytes(static_cast<double>(bytes)); }

}  // namespace

std::optional<WeightStore::Layout> WeightStore::missing(const KernelPlan& plan, ValueId constant) const {
  const Prepacking& prepacking = plan.kernel().prepacking;
  std::string key = fmt::format("{} {}", constant, prepacking.key(plan, target_));
  if (buffers_.contains(key)) return std::nullopt;
  return Layout{std::move(key), prepacking.bytes(plan, target_)};
}

// The layout depends on the plan but not on its hints, so kernels for different row counts share one copy.
const std::byte* WeightStore::get(const KernelPlan& plan, ValueId constant, const Tensor& weights) {
  const Prepacking& prepacking = plan.kernel().prepacking;
  const std::string key = fmt::format("{} {}", constant, prepacking.key(plan, target_));
  auto found = buffers_.find(key);
  if (found == buffers_.end()) {
    const auto start = std::chrono::steady_clock::now();
    found = buffers_.emplace(key, prepacking.lay_out(plan, target_, weights, threads_, pool_)).first;
    bytes_ += static_cast<int64_t>(found->second.size());
    milliseconds_ += milliseconds_since(start);
  }
  return found->second.bytes().data();
}

Executable::Executable(Graph graph, KernelLibrary& library, WeightStore& weights, ValueId shared_values,
                       const LowerOptions& options, int threads, int64_t held)
    : graph_(std::move(graph)),
      lowered_(lower(graph_, options)),
      own_weights_(options.target, threads),
      shared_values_(shared_values),
      threads_(threads) {
  place_values();
  require_memory_for_runs(weights, options.target, held);
  std::vector<KernelPlan> plans;
  for (const Step& step : lowered_.steps)
    if (step.plan) plans.push_back(*step.plan);
  const std::vector<KernelFn> kernels = library.compile(plans);
  ready_.resize(lowered_.steps.size());
  args_.resize(lowered_.steps.size());
  for (size_t i = 0, k = 0; i < lowered_.steps.size(); ++i) {
    const Step& step = lowered_.steps[i];
    if (!step.plan) {
      ready_[i].how = computes_nothing(step) ? How::nothing : How::interpreted;
      continue;
    }
    check_stop();
    prepare_step(i, kernels[k++], options.target, weights);
  }
}

// Of results without elements, by an op that could find no fault in its operands' values.
bool Executable::computes_nothing(const Step& step) const {
  const Node& node = graph_.node(step.group.nodes[0]);
  switch (node.op->codegen) {
    case Codegen::pointwise:
    case Codegen::gemm:
    case Codegen::attention:
    case Codegen::row:
    case Codegen::conv:
    case Codegen::window:
      return std::ranges::all_of(node.results, [&](ValueId v) { return bytes_in_memory(graph_.type(v)) == 0; });
    default:
      return false;
  }
}

void Executable::place_values() {
  places_.resize(graph_.value_capacity());
  for (size_t i = 0; i < graph_.inputs().size(); ++i)
    places_[static_cast<size_t>(graph_.inputs()[i])] = {Place::Kind::input, static_cast<int64_t>(i)};
  for (ValueId v : graph_.constants()) places_[static_cast<size_t>(v)] = {Place::Kind::constant, 0};
  plan_ = plan_arena(graph_, lowered_);
  shared_offset_ = plan_.bytes;
  for (const Step& step : lowered_.steps)
    plan_.bytes = std::max(plan_.bytes, checked_add(shared_offset_, step.shared_bytes));
  for (const auto& [value, offset] : plan_.offsets) places_[static_cast<size_t>(value)] = {Place::Kind::arena, offset};
}

// All that a run takes from the system, as the plan has it.
void Executable::require_memory_for_runs(const WeightStore& weights, const Target& target, int64_t held) const {
  int64_t scratch = 0, outputs = 0, laid_out = 0;
  std::map<std::string, int64_t> layouts;
  for (const Step& step : lowered_.steps) {
    if (!step.plan) continue;
    KernelArgs args{.dims = step.dims};
    scratch = std::max(scratch, launch(*step.plan, target, args).scratch_bytes);
    for (const PointerBinding& pointer : step.pointers)
      if (pointer.plane == PointerBinding::Plane::prepacked) {
        const ValueId holder = lowered_.alias_of[static_cast<size_t>(pointer.value)];
        if (const auto missing = store_of(holder, weights).missing(*step.plan, holder))
          layouts[missing->key] = missing->bytes;
      }
  }
  for (const auto& [key, bytes] : layouts) laid_out = checked_add(laid_out, bytes);
  for (const Output& output : graph_.outputs())
    outputs = checked_add(outputs, bytes_in_memory(graph_.type(output.value)));
  const int64_t areas = checked_mul(scratch, threads_),
                whole = checked_add(checked_add(plan_.bytes, areas), checked_add(laid_out, outputs));
  require_memory(
      std::max<int64_t>(checked_sub(whole, std::min(held, checked_add(plan_.bytes, areas))), 0),
      fmt::format("a run of these shapes ({} for what it computes, {} of scratch memory for {} threads, {} "
                  "of weights laid out, {} of outputs)",
                  megabytes(plan_.bytes), megabytes(areas), threads_, megabytes(laid_out), megabytes(outputs)));
}

void Executable::prepare_step(size_t i, KernelFn kernel, const Target& target, WeightStore& weights) {
  const Step& step = lowered_.steps[i];
  Ready& ready = ready_[i];
  ready.kernel = kernel;
  args_[i].dims = step.dims;
  ready.call = launch(*step.plan, target, args_[i]);
  if (ready.call.items > 0) ready.how = step.plan->kernel().row_numbers ? How::checked : How::kernel;
  scratch_bytes_ = std::max(scratch_bytes_, ready.call.scratch_bytes);
  CHECK(step.pointers.size() <= args_[i].pointers.size(), "step {} has {} pointers", step.name, step.pointers.size());
  for (size_t p = 0; p < step.pointers.size(); ++p)
    if (step.pointers[p].plane != PointerBinding::Plane::none) prepare_pointer(i, static_cast<int>(p), weights);
}

void Executable::prepare_pointer(size_t i, int position, WeightStore& weights) {
  const PointerBinding& binding = lowered_.steps[i].pointers[static_cast<size_t>(position)];
  if (binding.plane == PointerBinding::Plane::shared) {
    arena_pointers_.push_back({i, position, shared_offset_ + binding.byte_offset});
    return;
  }
  const Place& place = places_[static_cast<size_t>(lowered_.alias_of[static_cast<size_t>(binding.value)])];
  if (place.kind == Place::Kind::constant)
    args_[i].pointers[static_cast<size_t>(position)] =
        const_cast<std::byte*>(constant_plane(lowered_.steps[i], binding, weights));
  else if (place.kind == Place::Kind::input)
    input_pointers_.push_back({static_cast<size_t>(place.offset), i, position, binding.byte_offset});
  else if (place.kind == Place::Kind::arena)
    arena_pointers_.push_back({i, position, place.offset + binding.byte_offset});
}

namespace {
const Buffer& plane_of(const Tensor& tensor, PointerBinding::Plane plane) {
  switch (plane) {
    case PointerBinding::Plane::scales:
      return tensor.scales();
    case PointerBinding::Plane::zero_points:
      return tensor.zero_points();
    case PointerBinding::Plane::global:
      return tensor.global();
    default:
      return tensor.data();
  }
}
}  // namespace

const std::byte* Executable::constant_plane(const Step& step, const PointerBinding& binding, WeightStore& weights) {
  const ValueId holder = lowered_.alias_of[static_cast<size_t>(binding.value)];
  const Tensor& tensor = *graph_.constant(holder);
  if (binding.plane == PointerBinding::Plane::prepacked) {
    WeightStore& store = holder < shared_values_ ? weights : own_weights_;
    return store.get(*step.plan, holder, tensor) + binding.byte_offset;
  }
  return plane_of(tensor, binding.plane).bytes().data() + binding.byte_offset;
}

std::byte* Executable::address(ValueId v, const Workspace& workspace) const {
  const ValueId holder = lowered_.alias_of[static_cast<size_t>(v)];
  const Place& place = places_[static_cast<size_t>(holder)];
  switch (place.kind) {
    case Place::Kind::arena:
      return workspace.arena() + place.offset;
    case Place::Kind::input:
      return const_cast<std::byte*>(workspace.bound.inputs[static_cast<size_t>(place.offset)]);
    case Place::Kind::constant:
      return const_cast<std::byte*>(graph_.constant(holder)->data().bytes().data());
    case Place::Kind::none:
      break;
  }
  CHECK(false, "value %{} has no memory", graph_.value(v).name);
}

Tensor Executable::view(ValueId v, const Workspace& workspace) const {
  if (const Tensor* constant = graph_.constant(v)) return *constant;
  const TensorType& type = graph_.type(v);
  return Tensor(type.dtype, constant_shape(type.shape),
                Buffer(nullptr, {address(v, workspace), static_cast<size_t>(bytes_in_memory(type))}));
}

void Executable::interpret(const Step& step, const Workspace& workspace) const {
  const Node& node = graph_.node(step.group.nodes[0]);
  std::vector<Tensor> operands(node.operands.size());
  std::vector<const Tensor*> pointers(node.operands.size(), nullptr);
  for (size_t i = 0; i < operands.size(); ++i)
    if (node.operands[i] != kNone) {
      operands[i] = view(node.operands[i], workspace);
      pointers[i] = &operands[i];
    }
  std::vector<TensorType> types;
  for (ValueId v : node.results) types.push_back(graph_.type(v));
  const EvalArgs args{pointers, node.attributes, types};
  const std::vector<Tensor> results = evaluate_op(*node.op, args);
  for (size_t i = 0; i < results.size(); ++i) {
    const auto bytes = results[i].data().bytes();
    CHECK(static_cast<int64_t>(bytes.size()) == bytes_in_memory(types[i]), "{} gave a result of another size",
          node.op->name);
    if (!bytes.empty()) std::memcpy(address(node.results[i], workspace), bytes.data(), bytes.size());
  }
}

// Generated code trusts its indices, so they are checked first.
void Executable::check_row_numbers(const Step& step, const KernelArgs& args) const {
  const RowNumbers numbers = step.plan->kernel().row_numbers(*step.plan);
  const auto dim = [&](int d) { return args.dims[static_cast<size_t>(d)]; };
  const void* ids = args.pointers[static_cast<size_t>(numbers.numbers)];
  const int64_t rows = dim(numbers.rows_dim);
  for (int64_t i = 0; i < dim(numbers.count_dim); ++i) {
    const int64_t id =
        numbers.dtype == DType::i64 ? static_cast<const int64_t*>(ids)[i] : static_cast<const int32_t*>(ids)[i];
    if (id >= -rows && id < rows) continue;
    const auto value = [&](int pointer) -> const Value& {
      return graph_.value(step.pointers[static_cast<size_t>(pointer)].value);
    };
    fail("%{}: element {} is {}, but \"{}\" has {} rows", value(numbers.numbers).name, i, id,
         value(numbers.table).label, rows);
  }
}

void Executable::reserve(Workspace& workspace) const { workspace.reserve(plan_.bytes, scratch_bytes_, threads_); }

// Pointers into the arena change only when it has moved or another executable ran in it; those into inputs with every
// run.
void Executable::bind(const NamedTensors& inputs, Workspace& workspace) const {
  Workspace::Bound& bound = workspace.bound;
  if (bound.executable != identity_) {
    bound.executable = nullptr;
    bound.args = args_;
    for (const ArenaPointer& p : arena_pointers_)
      bound.args[p.step].pointers[static_cast<size_t>(p.position)] = workspace.arena() + p.offset;
    bound.executable = identity_;
  }
  bound.inputs.clear();
  for (ValueId v : graph_.inputs()) bound.inputs.push_back(inputs.at(graph_.value(v).label).data().bytes().data());
  for (const InputPointer& p : input_pointers_)
    bound.args[p.step].pointers[static_cast<size_t>(p.position)] =
        const_cast<std::byte*>(bound.inputs[p.input]) + p.offset;
}

void Executable::run_step(size_t i, const Workspace& workspace) const {
  const Ready& ready = ready_[i];
  if (ready.how == How::nothing) return;
  if (ready.how == How::interpreted) return interpret(lowered_.steps[i], workspace);
  const KernelArgs& args = workspace.bound.args[i];
  if (ready.how == How::checked) check_row_numbers(lowered_.steps[i], args);
  const auto [items, chunk_items, unused] = ready.call;
  if (threads_ == 1 || items <= chunk_items) {
    const int64_t at_once = std::max<int64_t>(chunk_items, 1) * kChunksAtOnce;
    for (int64_t begin = 0; begin < items; begin += at_once) {
      check_stop();
      ready.kernel(&args, begin, std::min(items, begin + at_once), workspace.scratch(0));
    }
    return;
  }
  auto chunk = [&](int64_t begin, int64_t end, int thread) {
    ready.kernel(&args, begin, end, workspace.scratch(thread));
  };
  parallel_chunks(items, chunk_items, threads_, chunk);
}

std::vector<Tensor> Executable::outputs(const Workspace& workspace) const {
  std::vector<Tensor> outputs;
  outputs.reserve(graph_.outputs().size());
  for (const Output& output : graph_.outputs()) {
    const Tensor shared = view(output.value, workspace);
    outputs.emplace_back(shared.is_packed()
                             ? unpack(shared)
                             : Tensor(shared.dtype(), shared.shape(), Buffer::copy_of(shared.data().bytes())));
  }
  return outputs;
}

std::string Executable::ops_of(const Step& step) const {
  std::string ops;
  for (NodeId n : step.group.nodes) ops += fmt::format("{}{}", ops.empty() ? "" : "+", graph_.node(n).op->name);
  return ops;
}

std::vector<std::string> Executable::weights_of(const Step& step) const {
  std::vector<std::string> labels;
  for (ValueId v : step.reads) {
    const Value& holder = graph_.value(lowered_.alias_of[static_cast<size_t>(v)]);
    if (holder.constant && !holder.label.empty()) labels.push_back(holder.label);
  }
  return labels;
}

std::vector<StepProfile> Executable::step_profiles() const {
  std::vector<StepProfile> profiles;
  for (const Step& step : lowered_.steps)
    profiles.push_back({.name = step.name,
                        .kind = step.plan ? std::string(step.plan->kernel().name) : "interpreted",
                        .ops = ops_of(step),
                        .why_interpreted = step.why_interpreted,
                        .flops = step.flops,
                        .bytes = step.bytes,
                        .weight_bytes = step.weight_bytes,
                        .weights = weights_of(step)});
  return profiles;
}

void Executable::require_finite_results(const Step& step, const NamedTensors& inputs,
                                        const Workspace& workspace) const {
  std::vector<ValueId> operands;
  for (ValueId v : step.reads) operands.push_back(lowered_.alias_of[static_cast<size_t>(v)]);
  for (ValueId v : step.writes) require_finite(graph_, v, view(v, workspace), ops_of(step), operands, inputs);
}

std::vector<Tensor> Executable::run(const NamedTensors& inputs, Workspace& workspace, RunProfile* profile,
                                    bool check) const {
  const Busy busy;
  bind(inputs, workspace);
  if (profile) profile->marks_ns.push_back(steady_ns());
  for (size_t i = 0; i < ready_.size(); ++i) {
    workspace.check_step();
    run_step(i, workspace);
    if (profile) profile->marks_ns.push_back(steady_ns());
    if (check) require_finite_results(lowered_.steps[i], inputs, workspace);
  }
  return outputs(workspace);
}

}  // namespace hone
