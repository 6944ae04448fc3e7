// bench_concurrency: what a run costs beside its kernels, and what threads that run one session at once get done
// against sessions of their own (docs/decisions/concurrent-runs.md). Things that are compared take turns.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <memory>
#include <thread>

#include "base/threads.h"
#include "bench/timing.h"
#include "ir/text.h"
#include "ops/registry.h"
#include "runtime/session.h"

namespace hone {
namespace {

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

Graph parsed(const std::string& text) {
  ParseContext context{.find_op = [](std::string_view name) { return ops::find(name); }};
  context.find_constant = [](const std::string&, const TensorType& type) -> std::optional<Tensor> {
    const std::vector<int64_t> shape = constant_shape(type.shape);
    return Tensor::from_floats(type.dtype, shape, std::vector<float>(static_cast<size_t>(element_count(shape)), 0.01f));
  };
  return parse_graph(text, context);
}

// `steps` reductions of rows, one after the other.
Graph chain(int steps) {
  std::string text = "graph g {\n  %v0 : f32[N,16] = input \"x\"\n";
  for (int i = 0; i < steps; ++i) text += fmt::format("  %v{} = softmax %v{}\n", i + 1, i);
  return parsed(text + fmt::format("  return %v{} as \"y\"\n}}\n", steps));
}

// `layers` products of [rows,width] with [width,width], each followed by gelu.
Graph products(int layers, int64_t width) {
  std::string text = fmt::format("graph g {{\n  %v0 : f32[N,{}] = input \"x\"\n", width);
  for (int i = 0; i < layers; ++i)
    text +=
        fmt::format("  %w{0} : f32[{1},{1}] = const \"w{0}\"\n  %l{0} = linear %v{0}, %w{0}\n  %v{2} = gelu %l{0}\n", i,
                    width, i + 1);
  return parsed(text + fmt::format("  return %v{} as \"y\"\n}}\n", layers));
}

NamedTensors rows(int64_t count, int64_t width) {
  return {{"x", Tensor::of<float>({count, width}, std::vector<float>(static_cast<size_t>(count * width), 0.5f))}};
}

double microseconds_of_a_run(Session& session, const NamedTensors& inputs) {
  std::vector<double> us;
  for (int i = 0; i < 20'000; ++i) us.push_back(1e6 * seconds_of([&] { session.run(inputs); }));
  return median(std::move(us));
}

void empty_steps() {
  for (int threads : {1, 2}) {
    Session one(chain(1), {.threads = threads}), sixty(chain(60), {.threads = threads});
    for (int64_t n : {0, 1}) {
      const double first = microseconds_of_a_run(one, rows(n, 16)), all = microseconds_of_a_run(sixty, rows(n, 16));
      fmt::print(
          "{} threads, {} rows of 16: {:.2f} us for a run of 60 steps, {:.2f} us for one of 1 step, {:.3f} us a step\n",
          threads, n, all, first, (all - first) / 59);
    }
  }
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// What threads get done, thread i on sessions[i % sessions.size()]. A second of the clock is what counts on a machine
// of one's own; beside other programs more threads get more of the machine, and a second of CPU time tells more.
struct Rate {
  double per_second = 0, per_cpu_second = 0;  // runs
};

Rate rate(const std::vector<std::unique_ptr<Session>>& sessions, int threads, const NamedTensors& inputs) {
  constexpr double kSeconds = 0.25;
  std::atomic<bool> over{false};
  std::atomic<int64_t> runs{0};
  std::vector<std::thread> callers;
  const double cpu_before = cpu_seconds();
  const double seconds = seconds_of([&] {
    for (int i = 0; i < threads; ++i)
      callers.emplace_back([&, i] {
        Session& session = *sessions[static_cast<size_t>(i) % sessions.size()];
        int64_t done = 0;
        for (; !over; ++done) session.run(inputs);
        runs += done;
      });
    std::this_thread::sleep_for(std::chrono::duration<double>(kSeconds));
    over = true;
    for (std::thread& caller : callers) caller.join();
  });
  const auto done = static_cast<double>(runs);
  return {done / seconds, done / (cpu_seconds() - cpu_before)};
}

void shared_session(const std::string& name, const Graph& graph, const NamedTensors& inputs, int session_threads) {
  const auto open = [&](int count) {
    std::vector<std::unique_ptr<Session>> sessions;
    for (int i = 0; i < count; ++i)
      sessions.push_back(std::make_unique<Session>(graph, SessionOptions{.threads = session_threads}));
    for (const auto& session : sessions) session->run(inputs);
    return sessions;
  };
  const int cpus = hardware_threads();
  const auto shared = open(1), own = open(cpus);
  std::vector<double> ratios, cpu_ratios, each;
  for (int round = 0; round < 21; ++round) {
    const Rate apart = rate(own, cpus, inputs), together = rate(shared, 2 * cpus, inputs);
    each.push_back(apart.per_second);
    ratios.push_back(together.per_second / apart.per_second);
    cpu_ratios.push_back(together.per_cpu_second / apart.per_cpu_second);
  }
  std::ranges::sort(ratios);
  const SessionStatistics s = shared[0]->statistics();
  fmt::print(
      "{}, {} threads a run: {} callers of one session get {:.3f} ({:.3f}-{:.3f}) of what {} sessions with a caller "
      "each do ({:.0f} runs/s), {:.3f} for the same CPU time; {} arenas, {} kernels, {} bytes of weights\n",
      name, session_threads, 2 * cpus, ratios[10], ratios[5], ratios[15], cpus, median(each), median(cpu_ratios),
      s.workspaces, s.kernels_compiled, s.prepacked_bytes);
}

}  // namespace
}  // namespace hone

int main() {
  using namespace hone;
  empty_steps();
  for (int threads : {1, 2}) {
    shared_session("60 small steps", chain(60), rows(1, 16), threads);
    shared_session("8 products of 8 x 256 x 256", products(8, 256), rows(8, 256), threads);
    shared_session("8 products of 64 x 512 x 512", products(8, 512), rows(64, 512), threads);
  }
}
