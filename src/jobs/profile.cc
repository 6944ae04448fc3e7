#include "jobs/profile.h"

#include <algorithm>
#include <chrono>

#include "measure/environment.h"
#include "measure/statistics.h"

namespace hone {
namespace {

double run_ms(Session& session, const NamedTensors& inputs) {
  const auto start = std::chrono::steady_clock::now();
  session.run(inputs);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// The larger of the two shares of a peak says what the step is bound by; below a fifth of both it is neither.
struct Bound {
  double share = 0;
  const char* by = "overhead";
};
Bound bound_of(double flops, double bytes, double seconds, double peak_flops, double peak_bytes) {
  const double compute = peak_flops > 0 ? flops / seconds / peak_flops : 0,
               memory = peak_bytes > 0 ? bytes / seconds / peak_bytes : 0;
  const double share = std::max(compute, memory);
  if (share < 0.2) return {share, "overhead"};
  return {share, compute >= memory ? "compute" : "memory"};
}

}  // namespace

Record profile(Session& session, const NamedTensors& inputs, const MachinePeaks& peaks, int threads, int repeats) {
  run_ms(session, inputs);
  std::vector<double> plain, profiled;
  std::vector<RunProfile> runs;
  for (int i = 0; i < repeats; ++i) {
    plain.push_back(run_ms(session, inputs));
    RunProfile run;
    const auto start = std::chrono::steady_clock::now();
    session.run(inputs, &run);
    profiled.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    runs.push_back(std::move(run));
  }
  const double total = median(profiled);
  const bool bf16 = session.compute() == Compute::bf16 && peaks.bf16_gflops > 0;
  const NumberStyle ms{NumberFormat::significant, 3}, rate{NumberFormat::significant, 3},
      percent{NumberFormat::percent, 1};
  Table steps{.key = "steps",
              .title = "Steps",
              .columns = {{"step", "step"},
                          {"kind", "kind"},
                          {"ops", "ops"},
                          {"ms", "time", "ms", ms},
                          {"share", "share", "", percent},
                          {"gflops", "GFLOP/s", "", rate},
                          {"gbytes", "GB/s", "", rate},
                          {"of_peak", "of peak", "", percent},
                          {"bound", "bound by"},
                          {"why", "why interpreted"}},
              .rows = {},
              .note =
                  "Rates count predicted FLOP and each operand and result once. Of peak: the larger of FLOP/s against "
                  "the measured FMA peak (bf16 products: the bf16 peak) and "
                  "bytes/s against second-level cache bandwidth, which memory-resident steps can't reach."};
  double explained = 0;
  int interpreted = 0;
  for (size_t s = 0; s < runs[0].steps.size(); ++s) {
    const StepProfile& step = runs[0].steps[s];
    std::vector<double> times;
    for (const RunProfile& run : runs) times.push_back(run.steps[s].milliseconds);
    const double time = std::max(median(times), 1e-6);
    explained += time;
    interpreted += step.kind == "interpreted";
    const double flop_peak =
        (bf16 && (step.kind == "gemm" || step.kind == "attention") ? peaks.bf16_gflops : peaks.f32_gflops) * 1e9 *
        threads;
    const Bound bound = bound_of(step.flops, step.bytes, time * 1e-3, flop_peak, peaks.l2_read_gbytes * 1e9 * threads);
    steps.rows.push_back({step.name, step.kind, step.ops, number(time), number(time / total),
                          number(step.flops / time * 1e-6), number(step.bytes / time * 1e-6), number(bound.share),
                          std::string(bound.by), step.why_interpreted.empty() ? Cell() : Cell(step.why_interpreted)});
  }
  const SessionStatistics& s = session.statistics();
  const NumberStyle bytes{NumberFormat::bytes, 3}, count{NumberFormat::integer, 0};
  KeyValues summary{
      .key = "profile",
      .title = "Run",
      .items = {{"run_ms", "one run", number(median(plain), median_interval(plain)), "ms", ms},
                {"profiled_ms", "one run, profiled", number(total), "ms", ms},
                {"profiler_overhead", "cost of profiling", number(total / median(plain) - 1), "", percent},
                {"unattributed_ms", "not in any step (dispatch, inputs, outputs)",
                 number(std::max(0.0, total - explained)), "ms", ms},
                {"interpreted_steps", "interpreted steps", number(interpreted), "", count},
                {"compile_ms", "compile", number(s.compile_milliseconds), "ms", ms},
                {"prepack_ms", "lay out weights", number(s.prepack_milliseconds), "ms", ms},
                {"prepacked_bytes", "weights laid out", number(static_cast<double>(s.prepacked_bytes)), "", bytes},
                {"arena_bytes", "arena", number(static_cast<double>(s.arena_bytes)), "", bytes},
                {"arena_lower_bound", "largest live set", number(static_cast<double>(s.arena_lower_bound)), "", bytes},
                {"peak_f32_gflops", "measured FMA peak, one thread", number(peaks.f32_gflops), "GFLOP/s", rate},
                {"peak_bf16_gflops", "measured bf16 peak, one thread",
                 peaks.bf16_gflops > 0 ? number(peaks.bf16_gflops) : Cell(), "GFLOP/s", rate},
                {"peak_read_gbytes", "measured memory read, one thread", number(peaks.read_gbytes), "GB/s", rate}}};
  return Record{.title = "Profile",
                .command = "",
                .findings = {},
                .sections = {{"Profile", {summary, steps}}},
                .machine = describe(environment()),
                .manifest = {}};
}

}  // namespace hone
