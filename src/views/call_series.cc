#include "views/call_series.h"

#include <fmt/format.h>

#include "measure/claim.h"

namespace hone {
namespace {

constexpr NumberStyle kFour{NumberFormat::significant, 4}, kCount{NumberFormat::integer, 0},
    kPercent{NumberFormat::percent, 1};

Table readings_table(const CallsResult& result) {
  Table table{.key = "readings",
              .title = "Means read off one series",
              .columns = {{"reading", "reading"},
                          {"calls", "calls", "", kCount},
                          {"warm_up", "left out before", "", kCount},
                          {"uncompiled_ms", "uncompiled", "ms", kFour},
                          {"compiled_ms", "compiled", "ms", kFour},
                          {"ratio", "uncompiled / compiled"}},
              .note =
                  "Without warm-up a mean has the first call in it, which makes code and lays weights out. "
                  "Uncompiled: each node has a kernel of its own."};
  for (const CallReading& reading : result.readings) {
    const double uncompiled = result.ways[0].mean_ns(reading.calls, reading.warmed_up),
                 compiled = result.ways[1].mean_ns(reading.calls, reading.warmed_up);
    table.rows.push_back({fmt::format("{} calls, {} warm-up", reading.calls, reading.warmed_up ? "with" : "without"),
                          number(static_cast<double>(reading.calls)),
                          number(reading.warmed_up ? static_cast<double>(kWarmUpCalls) : 0), number(uncompiled * 1e-6),
                          number(compiled * 1e-6), number(uncompiled / compiled)});
  }
  return table;
}

Table first_table(const CallsResult& result) {
  Table table{.key = "first",
              .title = "Where the first call's time goes",
              .columns = {{"part", "part"},
                          {"uncompiled_ms", "uncompiled", "ms", kFour},
                          {"compiled_ms", "compiled", "ms", kFour},
                          {"share", "share of compiled", "", kPercent}}};
  const RunCost &a = result.ways[0].cost, &b = result.ways[1].cost;
  const double all = b.compile + b.prepack + b.first;
  const auto add = [&](const char* part, double uncompiled, double compiled) {
    table.rows.push_back({part, number(uncompiled * 1e3), number(compiled * 1e3), number(compiled / all)});
  };
  add("passes, plans and machine code", a.compile, b.compile);
  add("weights laid out", a.prepack, b.prepack);
  add("the run itself, and opening", a.first, b.first);
  add("a later call", a.steady, b.steady);
  return table;
}

Table calls_table(const CallsResult& result) {
  Table table{.key = "calls",
              .title = "Every call",
              .columns = {{"call", "call", "", kCount},
                          {"uncompiled_ms", "uncompiled", "ms", kFour},
                          {"compiled_ms", "compiled", "ms", kFour}}};
  for (size_t i = 0; i < result.ways[0].calls_ns.size(); ++i)
    table.rows.push_back({number(static_cast<double>(i + 1)), number(result.ways[0].calls_ns[i] * 1e-6),
                          number(result.ways[1].calls_ns[i] * 1e-6)});
  return table;
}

LinePlot calls_plot(const CallsResult& result) {
  LinePlot plot{.key = "calls_plot",
                .title = "Time of each call",
                .x = {.title = "call"},
                .y = {.title = "time", .unit = "ms", .logarithmic = true}};
  for (const CallSeries& way : result.ways) {
    Line line{way.way, {}};
    for (size_t i = 0; i < way.calls_ns.size(); ++i)
      line.points.emplace_back(static_cast<double>(i + 1), way.calls_ns[i] * 1e-6);
    plot.lines.push_back(std::move(line));
  }
  return plot;
}

// Nothing where later calls are not shown to take less.
KeyValues compiling(const CallsResult& result) {
  return {.key = "compiling",
          .title = "What compiling gives",
          .items = {{"ratio", "uncompiled / compiled after warm-up", number(result.ratio.value, result.ratio.ci95)},
                    {"pays_after", "pays after", result.pays ? number(static_cast<double>(result.pays->runs)) : Cell(),
                     "calls", kCount}}};
}

}  // namespace

Record view_of(const CallsResult& result) {
  std::vector<std::string> findings{
      fmt::format("Compiled against uncompiled after warm-up: {}.", verdict(result.ratio))};
  if (result.pays) findings.push_back(fmt::format("Compiling has paid for itself by call {}.", result.pays->runs));
  return {.title = fmt::format("{}: {} calls", result.name, result.ways[0].calls_ns.size()),
          .findings = std::move(findings),
          .sections = {{"Calls",
                        {readings_table(result), compiling(result), first_table(result), calls_plot(result),
                         calls_table(result)}}},
          .machine = describe(result.environment)};
}

}  // namespace hone
