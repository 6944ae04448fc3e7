// Launches, alone and as the nodes of graphs.
#include <algorithm>
#include <cstring>

#include "tests/support/cuda/driver.h"

namespace hone::emulated_cuda {

KernelCall make_call(Function* handle, const unsigned* grid, const unsigned* block, unsigned shared, void** params,
                     void** extra) {
  const auto function = driver().get(handle);
  const ptx::Kernel& kernel = *function->kernel;
  KernelCall out{function->module, &kernel, {}, std::vector<std::byte>(static_cast<size_t>(kernel.param_bytes))};
  int64_t threads = 1;
  for (size_t i = 0; i < 3; ++i) {
    if (grid[i] == 0 || block[i] == 0 || block[i] > 1024 || grid[i] > (i ? 65535u : 0x7fffffffu))
      throw Failed{kInvalidValue};
    threads *= block[i];
    out.launch.grid[i] = grid[i], out.launch.block[i] = block[i];
  }
  if (threads > kernel.max_threads || int64_t{shared} > function->most_dynamic_shared || extra != nullptr ||
      (params == nullptr && !kernel.parameters.empty()))
    throw Failed{kInvalidValue};
  out.launch.shared_bytes = shared;
  out.launch.backwards = driver().settings.backwards;
  out.launch.sums = driver().settings.truncated ? ptx::Sums::truncated : ptx::Sums::once;
  for (size_t i = 0; i < kernel.parameters.size(); ++i)
    std::memcpy(out.params.data() + kernel.parameters[i].offset, params[i],
                static_cast<size_t>(kernel.parameters[i].bytes));
  return out;
}

void count_launch(Device& device) {
  const Settings& s = driver().settings;
  const int64_t n = ++driver().counts["launches"];
  if (n == s.refuse_launch) throw Failed{kLaunchOutOfResources};
  if (n == s.lose_device) {
    device.lost = true;
    throw Failed{kUnknown};
  }
}

namespace {

// On the stream, behind what it has been asked before. The settings may want it to fail there.
void push_call(Device& device, Stream* stream, KernelCall call) {
  const auto on = driver().get(stream);
  if (&on->device() != &device) throw Failed{kInvalidHandle};
  count_launch(device);
  const bool fails = driver().counts["launches"] == driver().settings.fault_launch;
  on->push([&device, fails, call = std::move(call)] {
    if (!fails) return driver().run_kernel(device, call);
    std::lock_guard lock(driver().mutex);
    if (device.sticky == kSuccess) device.sticky = kLaunchFailed;
    driver().fault = call.kernel->name + ": the settings make this launch fail";
  });
}

KernelCall call_of(const KernelNodeParams& p) {
  return make_call(static_cast<Function*>(p.function), p.grid, p.block, p.shared_bytes, p.params, p.extra);
}

}  // namespace
}  // namespace hone::emulated_cuda

using namespace hone::emulated_cuda;

extern "C" {
int cuLaunchKernel(Function* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, Stream* stream, void** params, void** extra) {
  return call([&] {
    Device& device = driver().current();
    const unsigned grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
    push_call(device, stream, make_call(function, grid, block, shared, params, extra));
  });
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function* of, int threads, size_t shared) {
  return call([&] {
    const auto function = driver().get(of);
    if (threads < 1 || threads > 1024) throw Failed{kInvalidValue};
    const size_t bytes = shared + static_cast<size_t>(function->kernel->shared_bytes) + 1024;  // what the system takes
    const size_t room = static_cast<size_t>(shared_limit(driver().settings)) + 1024;
    *blocks = static_cast<int>(std::min<size_t>({32, 2048u / static_cast<unsigned>(threads), room / bytes}));
  });
}

int cuGraphCreate(Graph** graph, unsigned) {
  return call([&] {
    driver().current();
    *graph = driver().make<Graph>();
  });
}
int cuGraphDestroy(Graph* graph) {
  return call([&] {
    driver().get(graph);
    driver().handles.erase(graph);
  });
}
int cuGraphAddKernelNode(KernelCall** node, Graph* graph, KernelCall* const* before, size_t count,
                         const KernelNodeParams* params) {
  return call([&] {
    driver().current();
    const auto to = driver().get(graph);
    for (size_t i = 0; i < count; ++i)
      if (std::none_of(to->nodes.begin(), to->nodes.end(), [&](const auto& n) { return n.get() == before[i]; }))
        throw Failed{kInvalidValue};
    to->nodes.push_back(std::make_unique<KernelCall>(call_of(*params)));
    *node = to->nodes.back().get();
  });
}
int cuGraphInstantiateWithFlags(GraphExec** exec, Graph* graph, unsigned long long) {
  return call([&] {
    driver().current();
    GraphExec made;
    for (const auto& node : driver().get(graph)->nodes) made.nodes.emplace_back(node.get(), *node);
    *exec = driver().make<GraphExec>(std::move(made));
  });
}
int cuGraphExecDestroy(GraphExec* exec) {
  return call([&] {
    driver().get(exec);
    driver().handles.erase(exec);
  });
}
// Other arguments, grid or shared memory, for the same function.
int cuGraphExecKernelNodeSetParams(GraphExec* exec, KernelCall* node, const KernelNodeParams* params) {
  return call([&] {
    driver().current();
    for (auto& [of, kept] : driver().get(exec)->nodes)
      if (of == node) {
        KernelCall changed = call_of(*params);
        if (changed.kernel != kept.kernel) throw Failed{kInvalidValue};
        kept = std::move(changed);
        return;
      }
    throw Failed{kInvalidValue};
  });
}
int cuGraphLaunch(GraphExec* exec, Stream* stream) {
  return call([&] {
    Device& device = driver().current();
    ++driver().counts["graph_launches"];
    for (const auto& [node, kept] : driver().get(exec)->nodes) push_call(device, stream, kept);
  });
}
}
