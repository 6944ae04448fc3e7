#include "views/bench_attention.h"

#include <fmt/format.h>

#include <algorithm>

#include "measure/claim.h"
#include "views/machine.h"
#include "views/op_forms.h"

namespace hone {
namespace {

constexpr NumberStyle kThree{NumberFormat::significant, 3}, kFour{NumberFormat::significant, 4},
    kBytes{NumberFormat::bytes, 3};

Table results_table(const AttentionResult& result) {
  Table table{.key = "results",
              .title = "Attention",
              .columns = {{"form", "form"},
                          {"median_ms", "median", "ms", kFour},
                          {"speed", "speed against naive", "", kThree},
                          {"mflop", "MFLOP", "", kFour},
                          {"gflops", "GFLOP/s", "", kThree},
                          {"bytes", "moved", "", kBytes},
                          {"scores_bytes", "scores kept", "", kBytes}},
              .note = "MFLOP and bytes are predicted: each operand and result of a step once."};
  for (const AttentionForm& form : result.forms) {
    double flops = 0, bytes = 0;
    for (const StepProfile& step : form.times.steps()) flops += step.flops, bytes += step.bytes;
    const Timing& t = form.timing;
    const Interval ci = t.median_ci95;
    const Ratio ratio = speed_ratio(result.forms[0].timing, t);
    table.rows.push_back({form.name, number(t.p50 * 1e-6, {ci.low * 1e-6, ci.high * 1e-6}),
                          &form == &result.forms[0] ? number(1) : number(ratio.value, ratio.ci95), number(flops * 1e-6),
                          number(flops / t.p50), number(bytes), number(form.scores_bytes)});
  }
  return table;
}

std::string finding(const AttentionResult& result) {
  const auto& [naive, fused] = result.forms;
  double bytes[2] = {0, 0};
  for (size_t i = 0; i < 2; ++i)
    for (const StepProfile& step : result.forms[i].times.steps()) bytes[i] += step.bytes;
  return fmt::format(
      "Fused against naive: {}. It moves {:.3g} MB instead of {:.3g}, since scores of {:.3g} MB are never kept.",
      verdict(speed_ratio(naive.timing, fused.timing)), bytes[1] * 1e-6, bytes[0] * 1e-6, naive.scores_bytes * 1e-6);
}

std::string title_of(const AttentionBenchOptions& options) {
  const auto& [batches, heads, keys, columns] = options.shape;
  const int64_t queries = options.queries == 0 ? keys : options.queries,
                kv_heads = options.kv_heads == 0 ? heads : options.kv_heads;
  const auto counted = [](int64_t n, const char* one, const char* many) {
    return fmt::format(", {} {}", n, n == 1 ? one : many);
  };
  std::string some = queries < keys ? counted(queries, "query", "queries") : "";
  if (!options.kv_format.empty()) some += ", keys and values in " + options.kv_format;
  if (options.page_rows > 0) some += fmt::format(", in pages of {}", options.page_rows);
  if (kv_heads < heads) some += counted(kv_heads, "head of keys", "heads of keys");
  return fmt::format("Attention {}x{}x{}x{} {}{}{}", batches, heads, keys, columns, to_string(options.type), some,
                     options.causal ? ", causal" : "");
}

}  // namespace

Record view_of(const AttentionResult& result) {
  return {.title = title_of(result.options),
          .findings = {finding(result)},
          .sections = {{"Both forms",
                        {results_table(result),
                         steps_table({&result.forms[0], &result.forms[1]}, result.measuring.session.threads,
                                     result.measuring.peaks),
                         peaks_block(result.measuring.peaks)}}},
          .machine = describe(result.environment)};
}

}  // namespace hone
