#include "runtime/executable.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/threads.h"
#include "codegen/prepack.h"
#include "ir/pointwise.h"
#include "runtime/memory_plan.h"

namespace hone {
namespace {

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

int64_t bytes_of(const TensorType& type) { return element_count(constant_shape(type.shape)) * size_bytes(type.dtype); }

}  // namespace

Arena plan_arena(const Graph& graph, const LoweredGraph& lowered) {
  const auto holder = [&](ValueId v) { return lowered.alias_of[static_cast<size_t>(v)]; };
  std::map<ValueId, size_t> range_of;
  std::vector<LiveRange> ranges;
  for (size_t s = 0; s < lowered.steps.size(); ++s) {
    const int step = static_cast<int>(s);
    for (ValueId v : lowered.steps[s].writes) {
      range_of[holder(v)] = ranges.size();
      ranges.push_back({bytes_of(graph.type(v)), step, step});
    }
    for (ValueId v : lowered.steps[s].reads)
      if (auto found = range_of.find(holder(v)); found != range_of.end()) ranges[found->second].last_step = step;
  }
  for (const Output& output : graph.outputs())
    if (auto found = range_of.find(holder(output.value)); found != range_of.end())
      ranges[found->second].last_step = static_cast<int>(lowered.steps.size());
  const MemoryPlan plan = plan_memory(ranges);
  Arena arena{plan.arena_bytes, plan.lower_bound, {}};
  for (const auto& [value, range] : range_of) arena.offsets[value] = plan.offsets[range];
  return arena;
}

// The layout depends on the plan but not on its hints, so kernels for different row counts share one copy.
const std::byte* WeightStore::get(const KernelPlan& plan, ValueId constant, const Tensor& weights) {
  const auto lay_out = [&](const auto& p) -> const Buffer& {
    if constexpr (requires { prepack_key(p, isa_); }) {
      const std::string key = fmt::format("{} {}", constant, prepack_key(p, isa_));
      auto found = buffers_.find(key);
      if (found == buffers_.end()) {
        const auto start = std::chrono::steady_clock::now();
        found = buffers_.emplace(key, prepack(p, isa_, weights, threads_, pool_)).first;
        bytes_ += static_cast<int64_t>(found->second.size());
        milliseconds_ += milliseconds_since(start);
      }
      return found->second;
    } else {
      CHECK(false, "a {} kernel reads no prepacked weights", kind_name(plan));
    }
  };
  return std::visit(lay_out, plan).bytes().data();
}

Executable::Executable(Graph graph, KernelLibrary& library, WeightStore& weights, ValueId shared_values,
                       const LowerOptions& options, int threads)
    : graph_(std::move(graph)),
      lowered_(lower(graph_, options)),
      own_weights_(options.isa, threads),
      shared_values_(shared_values),
      threads_(threads) {
  place_values();
  std::vector<KernelPlan> plans;
  for (const Step& step : lowered_.steps)
    if (step.plan) plans.push_back(*step.plan);
  const std::vector<Kernel> kernels = library.compile(plans);
  ready_.resize(lowered_.steps.size());
  for (size_t i = 0, k = 0; i < lowered_.steps.size(); ++i)
    if (lowered_.steps[i].plan) {
      prepare_step(i, kernels[k++], weights);
      ready_[i].items = work_items(*lowered_.steps[i].plan, options.isa, ready_[i].args);
    }
}

void Executable::place_values() {
  places_.resize(graph_.value_capacity());
  for (size_t i = 0; i < graph_.inputs().size(); ++i)
    places_[static_cast<size_t>(graph_.inputs()[i])] = {Place::Kind::input, static_cast<int64_t>(i)};
  for (ValueId v : graph_.constants()) places_[static_cast<size_t>(v)] = {Place::Kind::constant, 0};
  const Arena arena = plan_arena(graph_, lowered_);
  arena_bytes_ = arena.bytes;
  arena_lower_bound_ = arena.lower_bound;
  for (const auto& [value, offset] : arena.offsets) places_[static_cast<size_t>(value)] = {Place::Kind::arena, offset};
}

void Executable::prepare_step(size_t i, const Kernel& kernel, WeightStore& weights) {
  const Step& step = lowered_.steps[i];
  Ready& ready = ready_[i];
  ready.kernel = kernel;
  ready.args.dims = step.dims;
  scratch_bytes_ = std::max(scratch_bytes_, kernel.scratch_bytes);
  CHECK(step.pointers.size() <= ready.args.pointers.size(), "step {} has {} pointers", step.name, step.pointers.size());
  for (const PointerBinding& binding : step.pointers) {
    Pointer pointer;
    if (binding.plane != PointerBinding::Plane::none) {
      const Place& place = places_[static_cast<size_t>(lowered_.alias_of[static_cast<size_t>(binding.value)])];
      pointer.kind = place.kind;
      pointer.offset = place.kind == Place::Kind::arena ? place.offset + binding.byte_offset : binding.byte_offset;
      pointer.index = place.offset;
      if (place.kind == Place::Kind::constant) {
        const ValueId holder = lowered_.alias_of[static_cast<size_t>(binding.value)];
        const Tensor& tensor = *graph_.constant(holder);
        WeightStore& store = holder < shared_values_ ? weights : own_weights_;
        const std::byte* base = binding.plane == PointerBinding::Plane::prepacked
                                    ? store.get(*step.plan, holder, tensor)
                                : binding.plane == PointerBinding::Plane::scales ? tensor.scales().bytes().data()
                                                                                 : tensor.data().bytes().data();
        pointer.address = base + binding.byte_offset;
      }
    }
    ready.pointers.push_back(pointer);
  }
}

const std::byte* Executable::address(ValueId v, const std::vector<const std::byte*>& inputs,
                                     const std::byte* arena) const {
  const ValueId holder = lowered_.alias_of[static_cast<size_t>(v)];
  const Place& place = places_[static_cast<size_t>(holder)];
  switch (place.kind) {
    case Place::Kind::arena:
      return arena + place.offset;
    case Place::Kind::input:
      return inputs[static_cast<size_t>(place.offset)];
    case Place::Kind::constant:
      return graph_.constant(holder)->data().bytes().data();
    case Place::Kind::none:
      break;
  }
  CHECK(false, "value %{} has no memory", graph_.value(v).name);
}

Tensor Executable::view(ValueId v, const std::vector<const std::byte*>& inputs, const std::byte* arena) const {
  if (const Tensor* constant = graph_.constant(v)) return *constant;
  const TensorType& type = graph_.type(v);
  const auto bytes = static_cast<size_t>(bytes_of(type));
  return Tensor(type.dtype, constant_shape(type.shape), Buffer(nullptr, {address(v, inputs, arena), bytes}));
}

void Executable::interpret(const Step& step, const std::vector<const std::byte*>& inputs, std::byte* arena) const {
  const Node& node = graph_.node(step.group.nodes[0]);
  std::vector<Tensor> operands(node.operands.size());
  std::vector<const Tensor*> pointers(node.operands.size(), nullptr);
  for (size_t i = 0; i < operands.size(); ++i)
    if (node.operands[i] != kNone) {
      operands[i] = view(node.operands[i], inputs, arena);
      pointers[i] = &operands[i];
    }
  std::vector<TensorType> types;
  for (ValueId v : node.results) types.push_back(graph_.type(v));
  const EvalArgs args{pointers, node.attributes, types};
  const std::vector<Tensor> results = node.op->pointwise ? eval_pointwise(*node.op, args) : node.op->eval(args);
  for (size_t i = 0; i < results.size(); ++i) {
    const auto bytes = results[i].data().bytes();
    CHECK(static_cast<int64_t>(bytes.size()) == bytes_of(types[i]), "{} gave a result of another size", node.op->name);
    if (!bytes.empty())
      std::memcpy(const_cast<std::byte*>(address(node.results[i], inputs, arena)), bytes.data(), bytes.size());
  }
}

// Generated code trusts its indices, so they are checked first.
void Executable::check_indices(const Step& step, const Ready& ready, const KernelArgs& args) const {
  const auto& plan = std::get<GatherPlan>(*step.plan);
  const int64_t rows = args.dims[1];
  for (int64_t i = 0; i < ready.items; ++i) {
    const int64_t id = plan.ids == DType::i64 ? static_cast<const int64_t*>(args.pointers[2])[i]
                                              : static_cast<const int32_t*>(args.pointers[2])[i];
    if (id < -rows || id >= rows) {
      const ValueId table = step.pointers[0].value, ids = step.pointers[2].value;
      fail("%{}: element {} is {}, but \"{}\" has {} rows", graph_.value(ids).name, i, id, graph_.value(table).label,
           rows);
    }
  }
}

std::vector<Tensor> Executable::run(const NamedTensors& inputs, Workspace& workspace, RunProfile* profile) const {
  if (static_cast<int64_t>(workspace.arena.size()) < arena_bytes_)
    workspace.arena = Buffer(static_cast<size_t>(arena_bytes_));
  workspace.scratch.resize(static_cast<size_t>(threads_));
  for (Buffer& scratch : workspace.scratch)
    if (static_cast<int64_t>(scratch.size()) < scratch_bytes_) scratch = Buffer(static_cast<size_t>(scratch_bytes_));
  std::byte* arena = workspace.arena.mutable_bytes().data();
  std::vector<std::byte*> scratch;
  for (Buffer& s : workspace.scratch) scratch.push_back(s.mutable_bytes().data());
  std::vector<const std::byte*> input_data;
  for (ValueId v : graph_.inputs()) input_data.push_back(inputs.at(graph_.value(v).label).data().bytes().data());

  if (profile) profile->steps.clear();
  const auto run_start = std::chrono::steady_clock::now();
  for (size_t i = 0; i < lowered_.steps.size(); ++i) {
    const Step& step = lowered_.steps[i];
    const auto start = profile ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
    if (step.plan) {
      const Ready& ready = ready_[i];
      KernelArgs args = ready.args;
      for (size_t p = 0; p < ready.pointers.size(); ++p) {
        const Pointer& pointer = ready.pointers[p];
        const std::byte* base = pointer.kind == Place::Kind::arena ? arena + pointer.offset
                                : pointer.kind == Place::Kind::input
                                    ? input_data[static_cast<size_t>(pointer.index)] + pointer.offset
                                    : static_cast<const std::byte*>(pointer.address);
        args.pointers[p] = const_cast<std::byte*>(base);
      }
      if (std::holds_alternative<GatherPlan>(*step.plan)) check_indices(step, ready, args);
      auto chunk = [&](int64_t begin, int64_t end, int thread) {
        ready.kernel.run(&args, begin, end, scratch[static_cast<size_t>(thread)]);
      };
      parallel_chunks(ready.items, threads_ == 1 ? ready.items : ready.kernel.items_per_chunk, threads_, chunk);
    } else {
      interpret(step, input_data, arena);
    }
    if (profile) {
      std::string ops;
      for (NodeId n : step.group.nodes) ops += fmt::format("{}{}", ops.empty() ? "" : "+", graph_.node(n).op->name);
      profile->steps.push_back({step.name, step.plan ? std::string(kind_name(*step.plan)) : "interpreted", ops,
                                step.why_interpreted, milliseconds_since(start), step.flops, step.bytes});
    }
  }
  std::vector<Tensor> outputs;
  for (const Output& output : graph_.outputs()) {
    const Tensor shared = view(output.value, input_data, arena);
    outputs.emplace_back(shared.is_packed()
                             ? unpack(shared)
                             : Tensor(shared.dtype(), shared.shape(), Buffer::copy_of(shared.data().bytes())));
  }
  if (profile) profile->total_milliseconds = milliseconds_since(run_start);
  return outputs;
}

}  // namespace hone
