// bench_open_sizes MODEL --lengths N [--name S] [--compute bf16]: one session over all lengths 1 … N of a dimension, in
// random order: what the first run of each takes beside its later ones, and how many kernels are compiled.
// bench_open_sizes MODEL --planes N [--height H --width W]: the same over N image sizes.
// bench_open_sizes MODEL --these: code for any sizes against code for these alone (Session::prepare), turn by turn.
// docs/decisions/sizes-at-run-time.md
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <numeric>

#include "base/philox.h"
#include "bench/timing.h"
#include "jobs/default_inputs.h"
#include "jobs/load_model.h"
#include "runtime/session.h"

namespace hone {
namespace {

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

NamedTensors inputs_for(const Graph& graph, const Bindings& sizes) { return default_inputs(graph, sizes, 1); }

struct Timed {
  double first = 0, later = 0, last = 0;  // milliseconds; the median of the later runs, and the last of them
};

Timed timed(Session& session, const NamedTensors& inputs) {
  Timed t;
  t.first = 1e3 * seconds_of([&] { session.run(inputs); });
  std::vector<double> later;
  for (int i = 0; i < 5; ++i) later.push_back(1e3 * seconds_of([&] { session.run(inputs); }));
  t.last = later.back();
  t.later = median(later);
  return t;
}

void shuffle(std::vector<Bindings>& sizes) {
  Philox rng(1);
  for (size_t i = sizes.size(); i > 1; --i) std::swap(sizes[i - 1], sizes[rng.below(static_cast<uint32_t>(i))]);
}

// `share` and `more` milliseconds: what a first run may take beside a later one.
void over_all(Session& session, const Graph& graph, const std::vector<Bindings>& sizes, double share, double more,
              size_t after) {
  int of_one = 0, late = 0, noise = 0;
  double worst = 0;
  std::vector<double> ratios, extra;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int before = session.statistics().kernels_compiled;
    const Timed t = timed(session, inputs_for(graph, sizes[i]));
    const int compiled = session.statistics().kernels_compiled - before;
    if (i == 0) of_one = compiled;
    if (i < after || (compiled && after == 0)) continue;
    ratios.push_back(t.first / t.later);
    extra.push_back(t.first - t.later);
    worst = std::max(worst, (t.first - more) / t.later);
    late += t.first > share * t.later + more;
    noise += t.last > share * t.later + more;
  }
  if (ratios.empty()) fail("{} sizes are too few: more than {} are needed", sizes.size(), after);
  const SessionStatistics s = session.statistics();
  fmt::print(
      "{} sizes: {} kernels, {} for the first size ({:.2f}x); first run / later ones: median {:.3f}, {:+.3f} ms; "
      "above {:.2f} x + {} ms: {} of {} (of fifth later runs: {}); planning {:.3f} ms each\n",
      sizes.size(), s.kernels_compiled, of_one, static_cast<double>(s.kernels_compiled) / std::max(of_one, 1),
      median(ratios), median(extra), share, more, late, ratios.size(), noise,
      s.specialise_milliseconds / static_cast<double>(sizes.size()));
}

// Planning alone: a session that keeps one set of sizes, over all of them again and again; with warm caches, and with
// what other work leaves of them.
void planning(const Graph& graph, SessionOptions options, const std::vector<Bindings>& sizes, int rounds) {
  options.max_specialisations = 1;
  Session session(graph, options);
  for (const Bindings& each : sizes) session.prepare(each, Session::Code::any_sizes);
  const auto microseconds = [&](const std::function<void()>& between) {
    double seconds = 0;
    for (int i = 0; i < rounds; ++i)
      for (const Bindings& each : sizes) {
        between();
        seconds += seconds_of([&] { session.prepare(each, Session::Code::any_sizes); });
      }
    return 1e6 * seconds / (rounds * static_cast<double>(sizes.size()));
  };
  std::vector<int64_t> other(size_t{1} << 23);  // 64 MiB
  const double warm = microseconds([] {}), cold = microseconds([&] {
                                             for (int64_t& each : other) ++each;
                                           });
  fmt::print("planning alone: {:.1f} us a set of sizes, {:.1f} when caches hold other things\n", warm, cold);
}

void these_against_any(const Graph& graph, const SessionOptions& options, const Bindings& sizes) {
  Session any(graph, options), these(graph, options);
  these.prepare(sizes);
  const NamedTensors inputs = inputs_for(graph, sizes);
  const std::vector<Tensor> a = any.run(inputs), b = these.run(inputs);
  for (size_t i = 0; i < a.size(); ++i)
    if (!a[i].same_bits(b[i])) fmt::print("output {} has other bits\n", i);
  std::vector<double> ratios;
  for (int round = 0; round < 60; ++round) {
    const double x = seconds_of([&] { any.run(inputs); }), y = seconds_of([&] { these.run(inputs); });
    ratios.push_back(x / y);
  }
  fmt::print("code for any sizes / for these: {:.3f}; laid out for any {} bytes, for these {}\n", median(ratios),
             any.statistics().prepacked_bytes, these.statistics().prepacked_bytes);
}

}  // namespace
}  // namespace hone

int main(int argc, char** argv) {
  using namespace hone;
  CLI::App app{"Sizes that a run brings"};
  std::string path, name = "S", compute;
  int64_t lengths = 0, planes = 0, batch = 1;
  int rounds = 10;
  bool these = false;
  std::vector<std::string> dims;
  app.add_option("model", path)->required();
  app.add_option("--lengths", lengths);
  app.add_option("--planes", planes);
  app.add_option("--rounds", rounds, "of planning alone");
  app.add_option("--batch", batch);
  app.add_option("--compute", compute);
  app.add_option("--dim", dims);
  app.add_flag("--these", these);
  CLI11_PARSE(app, argc, argv);
  try {
    const Model model = load_model(path);
    SessionOptions options;
    if (compute == "bf16") options.compute = Compute::bf16;
    ShapeOptions shapes{.batch = batch};
    for (const std::string& dim : dims)
      shapes.dims[dim.substr(0, dim.find('='))] = std::stoll(dim.substr(dim.find('=') + 1));
    const Bindings base = bind_symbols(model.graph, shapes);
    if (these) these_against_any(model.graph, options, base);
    std::vector<Bindings> sizes;
    const std::vector<std::string> symbols = model.graph.symbols();
    for (int64_t length = 1; length <= lengths; ++length) {
      sizes.push_back(base);
      sizes.back()[symbols.back()] = length;
    }
    Philox rng(7);
    for (int64_t i = 0; i < planes; ++i) {  // multiples of 32, as detectors take them
      sizes.push_back(base);
      for (size_t s = symbols.size() - 2; s < symbols.size(); ++s) sizes.back()[symbols[s]] = 32 * (5 + rng.below(20));
    }
    if (sizes.empty()) return 0;
    if (lengths) shuffle(sizes);
    planning(model.graph, options, sizes, rounds);
    Session session(model.graph, options);
    if (lengths) over_all(session, model.graph, sizes, 1.10, 0.2, 0);
    else over_all(session, model.graph, sizes, 1.15, 1, 3);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
