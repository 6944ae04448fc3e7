#include "views/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "measure/bound.h"
#include "report/trace.h"
#include "views/conditions.h"
#include "views/machine.h"

namespace hone {
namespace {

constexpr size_t kExplained = 12;  // slowest steps that get a sentence
constexpr size_t kTracedRuns = 20;
constexpr NumberStyle kThree{NumberFormat::significant, 3}, kPercent{NumberFormat::percent, 1},
    kCount{NumberFormat::integer, 0}, kBytes{NumberFormat::bytes, 3};

// A step quicker than the clock ticks still has a rate.
double step_ms(const StepTimes& times, size_t step) { return std::max(times.step_ms[step], 1e-6); }

Table steps_table(const StepTimes& times, const MachinePeaks& peaks, const StepSetting& setting) {
  Table table{
      .key = "steps",
      .title = "Steps",
      .columns = {{"step", "step"},
                  {"kind", "kind"},
                  {"ops", "ops"},
                  {"bound", "bound by"},
                  {"ms", "time", "ms", kThree},
                  {"share", "share", "", kPercent},
                  {"least_ms", "allowed", "ms", kThree},
                  {"of_peak", "of peak", "", {NumberFormat::percent, 0}},
                  {"mflop", "MFLOP", "", kThree},
                  {"bytes", "moved", "", kBytes},
                  {"gflops", "GFLOP/s", "", kThree},
                  {"gbytes", "GB/s", "", kThree}},
      .note =
          "MFLOP and bytes are predicted: each operand and result once. Allowed: the least time that the "
          "measured peaks permit, by arithmetic or by reading; weights at the rate of a range as large as "
          "all of the model's, the rest at that of its own size. Of peak: allowed over taken. Times are medians; "
          "shares are of their sum."};
  const bool on_host = std::ranges::any_of(times.steps(), &StepProfile::on_host);
  if (on_host) table.columns.insert(table.columns.end(), {{"on", "on"}, {"copied", "copied", "", kBytes}});
  for (size_t s = 0; s < times.steps().size(); ++s) {
    const StepProfile& step = times.steps()[s];
    const double ms = step_ms(times, s);
    const Bound bound = bound_of(step, ms, peaks, setting);
    const bool known = bound.by != Bound::By::unknown;
    table.rows.push_back({step.name, step.kind, step.ops, to_string(bound.by), number(ms),
                          number(ms / times.typical_ms()),
                          known ? number(std::max(bound.compute_ms, bound.memory_ms)) : Cell(),
                          known ? number(bound.share) : Cell(), number(step.flops * 1e-6), number(step.bytes),
                          number(step.flops / ms * 1e-6), number(step.bytes / ms * 1e-6)});
    if (!on_host) continue;
    table.rows.back().push_back(step.on_host() ? Cell(std::string("host")) : Cell());
    table.rows.back().push_back(step.on_host() ? number(step.copied_bytes) : Cell());
  }
  return table;
}

std::vector<size_t> slowest_first(const StepTimes& times) {
  std::vector<size_t> order(times.step_ms.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return times.step_ms[a] > times.step_ms[b]; });
  return order;
}

// The slowest steps, and each without a kernel of the device.
Table slowest_table(const StepTimes& times, const MachinePeaks& peaks, const StepSetting& setting) {
  Table table{.key = "slowest",
              .title = "Why not faster",
              .columns = {{"step", "step"},
                          {"ms", "time", "ms", kThree},
                          {"share", "share", "", kPercent},
                          {.key = "why", .title = "why not faster", .prose = true}}};
  const std::vector<size_t> order = slowest_first(times);
  for (size_t i = 0; i < order.size(); ++i) {
    const StepProfile& step = times.steps()[order[i]];
    if (i >= kExplained && step.kind != "interpreted" && !step.on_host()) continue;
    const double ms = step_ms(times, order[i]);
    table.rows.push_back({step.name, number(ms), number(ms / times.typical_ms()),
                          why_not_faster(step, ms, bound_of(step, ms, peaks, setting))});
  }
  return table;
}

BarChart steps_chart(const StepTimes& times) {
  BarChart chart{.key = "step_times", .title = "Time by step", .value = {.title = "time", .unit = "ms"}};
  for (size_t s = 0; s < times.steps().size(); ++s)
    chart.bars.push_back({times.steps()[s].name, times.step_ms[s], times.steps()[s].kind});
  return chart;
}

Cell share_cell(const Ratio& ratio) { return number(ratio.value - 1, {ratio.ci95.low - 1, ratio.ci95.high - 1}); }

KeyValues summary_of(const StepTimes& times, const SessionStatistics& s) {
  const auto interpreted = std::count_if(times.steps().begin(), times.steps().end(),
                                         [](const StepProfile& step) { return step.kind == "interpreted"; });
  const Interval ci = times.plain.median_ci95;
  const auto bytes = [](int64_t n) { return number(static_cast<double>(n)); };
  KeyValues summary{
      .key = "profile",
      .title = "Run",
      .items = {{"run_ms", "one run", number(times.plain.p50 * 1e-6, {ci.low * 1e-6, ci.high * 1e-6}), "ms", kThree},
                {"profiled_ms", "one run, profiled", number(times.profiled.p50 * 1e-6), "ms", kThree},
                {"profiler_overhead", "cost of profiling", share_cell(times.overhead()), "", kPercent},
                {"runs", "profiled runs", number(static_cast<double>(times.runs.size())), "", kCount},
                {"unattributed_ms", "not in any step (dispatch, inputs, outputs)", number(times.unattributed_ms), "ms",
                 kThree},
                {"interpreted_steps", "interpreted steps", number(static_cast<double>(interpreted)), "", kCount},
                {"compile_ms", "compile", number(s.compile_milliseconds), "ms", kThree},
                {"prepack_ms", "lay out weights", number(s.prepack_milliseconds), "ms", kThree},
                {"prepacked_bytes", "weights laid out", bytes(s.prepacked_bytes), "", kBytes},
                {"arena_bytes", "arena", bytes(s.arena_bytes), "", kBytes},
                {"arena_lower_bound", "largest live set", bytes(s.arena_lower_bound), "", kBytes}}};
  double copied = 0;
  for (const StepProfile& step : times.steps()) copied += step.copied_bytes;
  if (const auto on_host = std::ranges::count_if(times.steps(), &StepProfile::on_host))
    summary.items.insert(summary.items.end(), {{"host_steps", "steps on the host", bytes(on_host), "", kCount},
                                               {"copied_bytes", "copied there and back", number(copied), "", kBytes}});
  return summary;
}

Section profile_section(const ModelSteps& model, const MachinePeaks& peaks, int threads) {
  const StepSetting setting{.model_bytes = static_cast<double>(model.weight_bytes), .threads = threads};
  const StepTimes& times = model.times;
  return {times.name,
          {summary_of(times, model.session), slowest_table(times, peaks, setting), steps_chart(times),
           steps_table(times, peaks, setting), peaks_block(peaks)}};
}

// By name; what is left over by ops, the first with the first. kNoPartner where there is none.
constexpr size_t kNoPartner = static_cast<size_t>(-1);
std::vector<size_t> partners(std::span<const StepProfile> a, std::span<const StepProfile> b) {
  std::vector<size_t> partner(a.size(), kNoPartner);
  std::vector<bool> taken(b.size(), false);
  const auto match = [&](auto&& same) {
    for (size_t i = 0; i < a.size(); ++i)
      for (size_t j = 0; j < b.size() && partner[i] == kNoPartner; ++j)
        if (!taken[j] && same(a[i], b[j])) partner[i] = j, taken[j] = true;
  };
  match([](const StepProfile& x, const StepProfile& y) { return x.name == y.name; });
  match([](const StepProfile& x, const StepProfile& y) { return x.ops == y.ops; });
  return partner;
}

Table side_by_side(const StepTimes& a, const StepTimes& b) {
  Table table{.key = "steps",
              .title = fmt::format("Steps of {} (A) and {} (B)", a.name, b.name),
              .columns = {{"step", "step"},
                          {"ops_a", "ops of A"},
                          {"ops_b", "ops of B"},
                          {"ms_a", "A", "ms", kThree},
                          {"ms_b", "B", "ms", kThree},
                          {"difference_ms", "B - A", "ms", kThree},
                          {"ratio", "A / B", "", kThree}},
              .note = "Matched by name, what is left by ops; largest differences first."};
  std::set<size_t> seen;
  const std::vector<size_t> partner = partners(a.steps(), b.steps());
  for (size_t i = 0; i < partner.size(); ++i) {
    const StepProfile& step = a.steps()[i];
    const double ms = step_ms(a, i);
    if (partner[i] == kNoPartner) {
      table.rows.push_back({step.name, step.ops, {}, number(ms), {}, number(-ms), {}});
      continue;
    }
    seen.insert(partner[i]);
    const double other = step_ms(b, partner[i]);
    table.rows.push_back({step.name, step.ops, b.steps()[partner[i]].ops, number(ms), number(other), number(other - ms),
                          number(ms / other)});
  }
  for (size_t j = 0; j < b.steps().size(); ++j)
    if (!seen.contains(j))
      table.rows.push_back(
          {b.steps()[j].name, {}, b.steps()[j].ops, {}, number(step_ms(b, j)), number(step_ms(b, j)), {}});
  const auto difference = [](const std::vector<Cell>& row) { return std::abs(std::get<Number>(row[5]).value); };
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [&](const auto& x, const auto& y) { return difference(x) > difference(y); });
  return table;
}

Table totals_table(const StepTimes& a, const StepTimes& b) {
  Table table{.key = "totals",
              .title = "Whole runs",
              .columns = {{"model", "model"},
                          {"ms", "one run", "ms", kThree},
                          {"profiler_overhead", "cost of profiling", "", kPercent},
                          {"unattributed_ms", "not in any step", "ms", kThree},
                          {"speed_ratio", "speed against A", "", kThree}}};
  for (const StepTimes* times : {&a, &b}) {
    const Ratio ratio = speed_ratio(a.plain, times->plain);
    const Interval ci = times->plain.median_ci95;
    table.rows.push_back({times->name, number(times->plain.p50 * 1e-6, {ci.low * 1e-6, ci.high * 1e-6}),
                          share_cell(times->overhead()), number(times->unattributed_ms),
                          times == &a ? number(1) : number(ratio.value, ratio.ci95)});
  }
  return table;
}

}  // namespace

Record view_of(const ProfileResult& result) {
  Record record{
      .title = "Profile", .findings = oversubscription(result.conditions), .machine = describe(result.environment)};
  for (const FileFacts& file : result.files) record.manifest.push_back(input_entry(file));
  record.findings.insert(record.findings.end(), result.notes.begin(), result.notes.end());
  if (result.models.size() == 1) {
    record.sections.push_back(profile_section(result.models[0], result.peaks, result.conditions.threads));
  } else {
    const StepTimes &a = result.models[0].times, &b = result.models[1].times;
    record.findings.push_back(
        fmt::format("Times of one placement each, which claim nothing: hone bench sets {} and {} up several times.",
                    b.name, a.name));
    record.sections.push_back({"Side by side", {totals_table(a, b), side_by_side(a, b)}});
  }
  record.sections.push_back({"Conditions", {conditions_block(result.conditions)}});
  return record;
}

std::string trace_of(const ProfileResult& result) {
  std::vector<TracedModel> traced;
  for (const ModelSteps& model : result.models) {
    const StepTimes& times = model.times;
    traced.push_back({times.name, std::span(times.runs).last(std::min(kTracedRuns, times.runs.size()))});
  }
  return trace_text(traced);
}

}  // namespace hone
