#include "measure/device_peaks.h"

#include <algorithm>
#include <limits>

#include "base/clock.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/linear.h"
#include "ops/calls/transcendental.h"
#include "runtime/session.h"

namespace hone {
namespace {

constexpr int kRuns = 3;           // of which the fastest counts
constexpr double kEnoughNs = 5e6;  // that clocks and events resolve to a thousandth
constexpr int64_t kMostBytes = int64_t{1} << 30, kMostSize = 8192;

class Measurement {
 public:
  Measurement(std::shared_ptr<Device> device, std::optional<std::string> cache_folder)
      : device_(std::move(device)), cache_folder_(std::move(cache_folder)) {}

  std::vector<MachinePeaks::Read> copies() const {
    std::vector<MachinePeaks::Read> rates;
    for (int64_t bytes = int64_t{1} << 20; bytes <= kMostBytes && fits(2 * bytes); bytes *= 4) {
      Graph g = named("copy");
      const int64_t count = bytes / 4;
      g.add_output(ops::neg(g, {input(g, {count})}), "y");
      const double ns = fastest_step_ns(std::move(g), {{"x", Tensor(DType::f32, {count})}}, Compute::f32);
      rates.push_back({bytes, 2 * static_cast<double>(bytes) / ns});
      if (ns > kEnoughNs) break;
    }
    return rates;
  }

  // 2 operations of a product and sum; in GFLOP/s.
  double products(Compute compute) const {
    double best = 0;
    for (int64_t n = 256; n <= kMostSize && fits(3 * 4 * n * n); n *= 2) {
      Graph g = named("product");
      const ValueId w = g.add_constant("w", Tensor(DType::f32, {n, n}));
      g.add_output(ops::linear(g, {.x = input(g, {n, n}), .w = w}), "y");
      const double ns = fastest_step_ns(std::move(g), {{"x", Tensor(DType::f32, {n, n})}}, compute);
      const auto size = static_cast<double>(n);
      best = std::max(best, 2 * size * size * size / ns);
      if (ns > kEnoughNs) break;
    }
    return best;
  }

  // Of a run of many, replayed, in microseconds.
  double step_us() const {
    constexpr int kSteps = 64;
    Graph g = named("steps");
    ValueId x = input(g, {1});
    for (int i = 0; i < kSteps; ++i) x = ops::tanh(g, {x});
    g.add_output(x, "y");
    Session session = session_of(std::move(g), Compute::f32);
    Context context;
    const NamedTensors inputs{{"x", Tensor(DType::f32, {1})}};
    double best = std::numeric_limits<double>::infinity();
    for (int run = 0; run < 2 + kRuns; ++run) {
      const int64_t begin = steady_ns();
      session.run(context, inputs);
      if (run >= 2) best = std::min(best, static_cast<double>(steady_ns() - begin));  // the second one prepares
    }
    return 1e-3 * best / kSteps;
  }

 private:
  static Graph named(const char* name) {
    Graph g;
    g.name = name;
    return g;
  }
  static ValueId input(Graph& g, std::vector<int64_t> shape) {
    return g.add_input("x", {.dtype = DType::f32, .shape = to_shape(shape), .format = {}});
  }

  bool fits(int64_t bytes) const { return bytes <= device_->free_bytes().value_or(kMostBytes) / 8; }

  Session session_of(Graph graph, Compute compute) const {
    SessionOptions options{.device = device_, .fuse = false, .no_fallback = true};
    options.compute = compute;
    options.cache_folder = cache_folder_;
    return Session(std::move(graph), std::move(options));
  }

  double fastest_step_ns(Graph graph, const NamedTensors& inputs, Compute compute) const {
    Session session = session_of(std::move(graph), compute);
    Context context;
    double best = std::numeric_limits<double>::infinity();
    for (int run = 0; run <= kRuns; ++run) {
      RunProfile profile;
      session.run(context, inputs, &profile);
      if (run > 0) best = std::min(best, static_cast<double>(profile.marks_ns.back() - profile.marks_ns.front()));
    }
    return std::max(best, 1.0);
  }

  const std::shared_ptr<Device> device_;
  const std::optional<std::string> cache_folder_;
};

// What the device has no kernel for is not measured.
template <class Rate>
void measure(const Rate& rate) {
  try {
    rate();
  } catch (const DeviceLost&) {
    throw;
  } catch (const Error&) {
  }
}

}  // namespace

std::optional<MachinePeaks> measure_device_peaks(const std::shared_ptr<Device>& device,
                                                 const std::optional<std::string>& cache_folder) {
  if (!device->compiles() || !device->free_bytes()) return std::nullopt;
  const Measurement measurement(device, cache_folder);
  MachinePeaks peaks;
  measure([&] { peaks.reads = measurement.copies(); });
  measure([&] { peaks.f32_gflops = measurement.products(Compute::f32); });
  measure([&] { peaks.bf16_gflops = measurement.products(Compute::bf16); });
  measure([&] { peaks.fork_join_us = measurement.step_us(); });
  return peaks;
}

}  // namespace hone
