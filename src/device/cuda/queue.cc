#include "device/cuda/queue.h"

#include <limits>

#include "device/cuda/module.h"

namespace hone {

using namespace cuda;

namespace {

DevicePointer address_of(const std::byte* at) { return reinterpret_cast<DevicePointer>(at); }

std::string step_text(std::string_view name) { return fmt::format("step \"{}\"", name); }

// What a kernel is given: its arguments by value, its scratch area, and how many items there are.
struct Params {
  KernelArgs args;
  std::byte* scratch = nullptr;
  int64_t items = 0;
  void* places[3] = {&args, &scratch, &items};

  Params(const KernelArgs& given, const Launch& call, std::span<std::byte* const> areas)
      : args(given), scratch(areas.empty() ? nullptr : areas[0]), items(call.items) {}
  Params(const Params&) = delete;
  Params& operator=(const Params&) = delete;
};

void check_grid(const Launch& call) {
  if (call.items > std::numeric_limits<int32_t>::max())
    fail("CUDA: {}: {} blocks are more than one launch can have ({}). Try smaller inputs, as by --batch",
         step_text(call.name), call.items, std::numeric_limits<int32_t>::max());
}

KernelNodeParams node_params(Code code, const Launch& call, Params& params) {
  return {.function = cuda_code(code).function,
          .grid = {static_cast<unsigned>(call.items), 1, 1},
          .block = {static_cast<unsigned>(call.threads_per_item), 1, 1},
          .shared_bytes = static_cast<unsigned>(call.shared_bytes),
          .params = params.places,
          .extra = nullptr};
}

// A graph of those steps that have blocks at all.
struct CudaReplay : Replay {
  CudaReplay(CudaContext& of, std::span<const QueuedStep> each, uint64_t of_generation)
      : context(of), generation(of_generation), steps(each.begin(), each.end()), nodes(each.size()) {}
  ~CudaReplay() override {
    try {
      const CudaCalls calls(context, generation);
      if (exec) calls->cuGraphExecDestroy(exec);
      if (graph) calls->cuGraphDestroy(graph);
    } catch (const Error&) {  // it went with its context
    }
  }

  CudaContext& context;  // which its queue keeps
  const uint64_t generation;
  const std::vector<QueuedStep> steps;
  std::vector<Handle> nodes;  // by step; null: it has no blocks
  Handle graph = nullptr, exec = nullptr;
};

}  // namespace

CudaQueue::~CudaQueue() {
  stream_->drop_reads();
  try {
    const CudaCalls at = calls();
    at.check(at->cuStreamSynchronize(stream_->handle()), "a copy");
  } catch (const Error&) {  // all of it went with the context
  }
  stream_->forget_events();
  context_->put(std::move(stream_));
}

void CudaQueue::write(std::byte* to, std::span<const std::byte> from) {
  const CudaCalls at = calls();
  if (!from.empty()) stream_->write(at, address_of(to), from);
}

void CudaQueue::read(const std::byte* from, std::span<std::byte> to) {
  const CudaCalls at = calls();
  if (!to.empty()) stream_->read(at, address_of(from), to);
}

void CudaQueue::copy(std::byte* to, const std::byte* from, size_t bytes) {
  const CudaCalls at = calls();
  if (bytes == 0) return;
  at.check(at->cuMemcpyDtoDAsync_v2(address_of(to), address_of(from), bytes, stream_->handle()), "a copy");
}

void CudaQueue::launch(Code code, const KernelArgs& args, const Launch& call, std::span<std::byte* const> scratch) {
  const CudaCalls at = calls();
  if (call.items == 0) return;
  check_grid(call);
  Params params(args, call, scratch);
  at.check(at->cuLaunchKernel(cuda_code(code).function, static_cast<unsigned>(call.items), 1, 1,
                              static_cast<unsigned>(call.threads_per_item), 1, 1,
                              static_cast<unsigned>(call.shared_bytes), stream_->handle(), params.places, nullptr),
           step_text(call.name));
  under_way_.add(call.name, call.name, 1);
  if (!context_->waits_for_steps()) return;
  at.check(at->cuStreamSynchronize(stream_->handle()), step_text(call.name));
  under_way_ = {};
}

std::unique_ptr<Replay> CudaQueue::prepare(std::span<const QueuedStep> steps) {
  auto replay = std::make_unique<CudaReplay>(*context_, steps, stream_->generation());  // goes behind the calls
  const CudaCalls at = calls();
  at.check(at->cuGraphCreate(&replay->graph, 0), "a graph");
  Handle before = nullptr;
  for (size_t i = 0; i < steps.size(); ++i) {
    const QueuedStep& step = steps[i];
    if (step.call->items == 0) continue;
    check_grid(*step.call);
    Params params(*step.args, *step.call, step.scratch);
    const KernelNodeParams node = node_params(step.code, *step.call, params);
    at.check(at->cuGraphAddKernelNode(&replay->nodes[i], replay->graph, &before, before ? 1 : 0, &node),
             step_text(step.call->name));
    before = replay->nodes[i];
  }
  if (before) at.check(at->cuGraphInstantiateWithFlags(&replay->exec, replay->graph, 0), "a graph");
  return replay;
}

void CudaQueue::run(Replay& asked, std::span<const size_t> changed) {
  const auto& replay = static_cast<const CudaReplay&>(asked);
  if (context_->waits_for_steps()) {
    for (const QueuedStep& step : replay.steps) launch(step.code, *step.args, *step.call, step.scratch);
    return;
  }
  const CudaCalls at = calls();
  for (size_t i : changed) {
    if (!replay.nodes[i]) continue;
    const QueuedStep& step = replay.steps[i];
    Params params(*step.args, *step.call, step.scratch);
    const KernelNodeParams node = node_params(step.code, *step.call, params);
    at.check(at->cuGraphExecKernelNodeSetParams(replay.exec, replay.nodes[i], &node), step_text(step.call->name));
  }
  if (!replay.exec) return;
  const std::string_view first = replay.steps.front().call->name, last = replay.steps.back().call->name;
  at.check(at->cuGraphLaunch(replay.exec, stream_->handle()),
           fmt::format("the steps from \"{}\" to \"{}\"", first, last));
  under_way_.add(first, last, replay.steps.size());
}

uint64_t CudaQueue::record() {
  const CudaCalls at = calls();
  return stream_->record(at);
}

void CudaQueue::wait(uint64_t event) try {
  const CudaCalls at = calls();
  if (at->cuEventSynchronize(stream_->event(event)) == kSuccess) stream_->deliver(at);
} catch (const Error&) {  // synchronise() says so
}

double CudaQueue::elapsed_ns(uint64_t from, uint64_t to) {
  const CudaCalls at = calls();
  float milliseconds = 0;
  at.check(at->cuEventElapsedTime(&milliseconds, stream_->event(from), stream_->event(to)),
           "the time between two events");
  return 1e6 * static_cast<double>(milliseconds);
}

void CudaQueue::synchronise() {
  const CudaCalls at = calls();
  const int result = at->cuStreamSynchronize(stream_->handle());
  if (result == kSuccess) stream_->deliver(at);
  else stream_->drop_reads();
  try {
    at.check(result, "a copy");
  } catch (...) {
    under_way_ = {};  // whose names may go
    throw;
  }
  under_way_ = {};
}

}  // namespace hone
