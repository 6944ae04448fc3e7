#include "views/explain.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone {
namespace {

constexpr NumberStyle kCount{NumberFormat::integer, 0}, kBytes{NumberFormat::bytes, 3},
    kFigure{NumberFormat::significant, 3};

Cell whole(int64_t n) { return number(static_cast<double>(n)); }

std::string code_name(size_t code) { return fmt::format("#{}", code + 1); }

Table steps_table(const ExplainResult& result) {
  Table table{.key = "steps",
              .title = "One line per step, in the order of execution",
              .columns = {{"step", "step"},
                          {"ops", "ops"},
                          {"kernel", "kernel"},
                          {"mflop", "MFLOP", "", kFigure},
                          {"bytes", "moves", "", kBytes},
                          {"code", "code"},
                          {"why", "why interpreted"}},
              .note = "MFLOP and bytes are predicted: each operand and result once."};
  for (const ExplainedStep& step : result.steps)
    table.rows.push_back({step.name, step.ops, step.kernel, number(step.flops * 1e-6), number(step.bytes),
                          step.code ? Cell(code_name(*step.code)) : Cell(),
                          step.code ? Cell() : Cell(step.why_interpreted)});
  return table;
}

Table codes_table(const ExplainResult& result) {
  Table table{.key = "kernels",
              .title = "Machine code, and the steps that share it",
              .columns = {{"code", "code"}, {"kernel", "kernel"}, {"steps", "steps", "", kCount}, {"how", "how"}}};
  for (size_t c = 0; c < result.codes.size(); ++c) {
    const ExplainedCode& code = result.codes[c];
    table.rows.push_back(
        {code_name(c), code.kernel, whole(code.steps), (code.on_host ? "on the host: " : "") + code.how});
  }
  return table;
}

Table on_host_table(const ExplainResult& result) {
  Table table{.key = "on_host",
              .title = "Steps that run on the host",
              .columns = {{"step", "step"},
                          {"ops", "ops"},
                          {"copied", "copied", "", kBytes},
                          {"why", "why the device does not run it"}}};
  for (const ExplainedStep& step : result.steps)
    if (step.on_host) table.rows.push_back({step.name, step.ops, whole(step.copied_bytes), step.why_on_host});
  return table;
}

Table refused_table(const ExplainResult& result) {
  Table table{.key = "refused",
              .title = "Other ways that were refused",
              .columns = {{"step", "step"}, {"why", "way, and the reason against it"}}};
  for (const ExplainedStep& step : result.steps)
    for (const std::string& refused : step.refused) table.rows.push_back({step.name, refused});
  return table;
}

Table left_out_table(const ExplainResult& result) {
  Table table{.key = "left_out",
              .title = "Element by element, but in a kernel of its own",
              .columns = {{"step", "step"}, {"op", "user"}, {"value", "its result"}, {"why", "why not fused"}}};
  for (const ExplainedStep& step : result.steps)
    for (const NotFused& left : step.left_out) table.rows.push_back({step.name, left.op, left.value, left.why});
  return table;
}

Table moves_table(const ExplainResult& result) {
  Table table{.key = "moves",
              .title = "Steps that only move elements",
              .columns = {{"step", "step"}, {"ops", "ops"}, {"type", "result"}, {"bytes", "moves", "", kBytes}}};
  for (const ExplainedStep& step : result.steps)
    if (step.moved) table.rows.push_back({step.name, step.ops, *step.moved, number(step.bytes)});
  return table;
}

KeyValues memory_block(const ExplainResult& result) {
  return {.key = "memory",
          .items = {{"arena_bytes", "planned arena", whole(result.arena_bytes), "", kBytes},
                    {"arena_lower_bound", "largest set of values alive at once", whole(result.largest_live_bytes), "",
                     kBytes},
                    {"in_place", "results written over an operand", whole(result.in_place), "", kCount},
                    {"prepacked_bytes", "weights as laid out", whole(result.prepacked_bytes), "", kBytes}}};
}

std::vector<std::string> findings_of(const ExplainResult& result) {
  const auto count = [](int64_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); };
  std::vector<std::string> found{fmt::format("{} run as {} with {}, for {}", count(result.nodes, "node"),
                                             count(std::ssize(result.steps), "step"),
                                             count(std::ssize(result.codes), "compiled kernel"), result.variant)};
  if (const auto on_host = std::ranges::count_if(result.steps, &ExplainedStep::on_host))
    found.push_back(fmt::format("{} on the host, whose kernels {} lacks", count(on_host, "step"), result.device));
  if (const auto interpreted = std::ranges::count_if(result.steps, [](const auto& step) { return !step.code; }))
    found.push_back(fmt::format("{} interpreted: right, but not compiled", count(interpreted, "step")));
  if (result.with_bodies > 0)
    found.push_back(fmt::format("{} more: planned and compiled when {} bodies first run",
                                count(result.with_bodies, "node"), result.with_bodies == 1 ? "its" : "their"));
  if (result.one_by_one > 0)
    found.push_back(fmt::format("{} more: evaluated one by one, because their shapes depend on data",
                                count(result.one_by_one, "node")));
  if (result.later > 0)
    found.push_back(fmt::format("{} after that: planned and compiled when a run has found their sizes",
                                count(result.later, "node")));
  return found;
}

Block or_text(Table table, const char* none) {
  if (table.rows.empty()) return Text{none};
  return table;
}

}  // namespace

Record view_of(const ExplainResult& result) {
  std::vector<Block> groups{steps_table(result), codes_table(result)};
  if (Table on_host = on_host_table(result); !on_host.rows.empty()) groups.push_back(std::move(on_host));
  groups.push_back(or_text(refused_table(result), "No other way to compute a step was refused."));
  if (Table left_out = left_out_table(result); !left_out.rows.empty()) groups.push_back(std::move(left_out));
  return {.title = "Explanation",
          .findings = findings_of(result),
          .sections = {{"Groups and kernels", std::move(groups)},
                       {"Layout changes", {or_text(moves_table(result), "No step only moves elements.")}},
                       {"Memory", {memory_block(result)}}}};
}

}  // namespace hone
