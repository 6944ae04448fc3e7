#include "jobs/call_series.h"

#include <algorithm>
#include <numeric>

#include "base/clock.h"
#include "base/error.h"
#include "jobs/comparison.h"
#include "jobs/open_session.h"
#include "measure/quality.h"
#include "measure/turns.h"

namespace hone {
namespace {

struct Way {
  CallSeries series;
  SessionOptions session;
  std::unique_ptr<Session> opened;
  std::vector<Tensor> outputs;
};

// Opens the session and asks it once.
void call_first(Way& way, const Model& model, const CandidateOptions& options, NamedTensors& inputs) {
  const int64_t start = steady_ns();
  way.opened = std::make_unique<Session>(open_session(model, way.session));
  int64_t made_up = 0;  // inputs are no part of it
  if (inputs.empty()) {
    const int64_t begin = steady_ns();
    inputs = options.given.empty()
                 ? default_inputs(way.opened->graph(), bind_symbols(way.opened->graph(), options.shapes), options.seed)
                 : options.given;
    made_up = steady_ns() - begin;
  }
  way.outputs = way.opened->run(inputs);
  const int64_t all = steady_ns() - start - made_up;
  const SessionStatistics s = way.opened->statistics();
  RunCost& cost = way.series.cost;
  cost.compile = (s.prepare_milliseconds + s.specialise_milliseconds + s.compile_milliseconds) * 1e-3;
  cost.prepack = s.prepack_milliseconds * 1e-3;
  cost.first = std::max(0.0, static_cast<double>(all) * 1e-9 - cost.compile - cost.prepack);
  way.series.calls_ns.push_back(static_cast<double>(all));
}

Timing after_warm_up(const CallSeries& series) {
  return summarise(series.way, {series.calls_ns.begin() + kWarmUpCalls, series.calls_ns.end()}, TimingOptions().target);
}

std::vector<CallReading> readings_of(int64_t calls) {
  std::vector<CallReading> readings;
  for (const bool warmed_up : {false, true})
    for (const int64_t n : {int64_t{5}, int64_t{20}, warmed_up ? calls - kWarmUpCalls : calls})
      if (n <= calls - (warmed_up ? kWarmUpCalls : 0) && std::ranges::none_of(readings, [&](const CallReading& r) {
            return r.calls == n && r.warmed_up == warmed_up;
          }))
        readings.push_back({n, warmed_up});
  return readings;
}

}  // namespace

double CallSeries::mean_ns(int64_t calls, bool warmed_up) const {
  const int64_t from = warmed_up ? kWarmUpCalls : 0;
  CHECK(calls > 0 && from + calls <= static_cast<int64_t>(calls_ns.size()), "no {} calls after {}", calls, from);
  return std::accumulate(calls_ns.begin() + from, calls_ns.begin() + from + calls, 0.0) / static_cast<double>(calls);
}

CallsResult call_series(const Model& model, const CandidateOptions& options, int64_t calls,
                        const TaskContext& context) {
  if (calls < kFewestCalls) fail("--calls {}: at least {}, of which {} are warm-up", calls, kFewestCalls, kWarmUpCalls);
  SessionOptions session = options.session;
  session.cache_folder.reset(), session.model_code = false;  // it would not compile
  std::array<Way, 2> ways;
  ways[0].series.way = "uncompiled", ways[1].series.way = "compiled";
  ways[0].session = ways[1].session = session;
  ways[0].session.fuse = false;
  NamedTensors inputs;
  context.tell("the first calls");
  for (Way& way : ways) call_first(way, model, options, inputs);
  if (!ways[0].outputs.empty() && is_float(ways[0].outputs[0].dtype())) {
    const Quality quality = compare(ways[0].outputs[0].to_floats(), ways[1].outputs[0].to_floats());
    CHECK(quality.cosine >= kLeastCosine, "compiled and uncompiled calls differ: cosine {}", quality.cosine);
  }
  context.tell("further calls");
  Turns turns(ways.size(), options.seed);
  for (int64_t call = 1; call < calls; ++call) {
    context.check();
    for (const size_t i : turns.next()) {
      const int64_t start = steady_ns();
      ways[i].opened->run(inputs);
      ways[i].series.calls_ns.push_back(static_cast<double>(steady_ns() - start));
    }
  }
  const Timing timings[] = {after_warm_up(ways[0].series), after_warm_up(ways[1].series)};
  CallsResult result{.name = model.name, .readings = readings_of(calls), .environment = environment()};
  for (size_t i = 0; i < ways.size(); ++i) {
    ways[i].series.cost.steady = timings[i].p50 * 1e-9;
    result.ways[i] = std::move(ways[i].series);
  }
  result.ratio = speed_ratio(timings[0], timings[1]);
  result.pays = break_even({result.ways[0].cost}, {result.ways[1].cost}, result.ratio);
  result.conditions = conditions_of(
      *ways[1].opened, options.given.empty() ? bind_symbols(ways[1].opened->graph(), options.shapes) : Bindings(),
      session.threads);
  return result;
}

}  // namespace hone
