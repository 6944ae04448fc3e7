#include "views/prune.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/text.h"
#include "measure/environment.h"
#include "views/bench.h"
#include "views/how_trained.h"
#include "views/saved_model.h"

namespace hone {
namespace {

constexpr NumberStyle kCount{NumberFormat::integer, 0};

std::string share_text(int64_t part, int64_t whole) {
  return fmt::format("{:.2f} %", 100 * (static_cast<double>(part) / static_cast<double>(std::max<int64_t>(whole, 1))));
}

Table part_table(const PrunedModel& pruned) {
  Table table{.key = "pruned",
              .title = "What went",
              .columns = {{"name", "layer"},
                          {"all", pruned.is_smaller ? pruned.structure : "weights", "", kCount},
                          {"gone", "gone", "", kCount},
                          {"share", "share", "", {NumberFormat::percent, 1}},
                          {"why", "why not"}}};
  for (const PrunedPart& part : pruned.parts)
    table.rows.push_back({part.name, number(static_cast<double>(part.all)), number(static_cast<double>(part.gone)),
                          number(part.all == 0 ? 0 : static_cast<double>(part.gone) / static_cast<double>(part.all)),
                          part.kept_because.empty() ? Cell() : Cell(part.kept_because)});
  return table;
}

std::string effect(const PrunedModel& pruned) {
  if (pruned.is_smaller)
    return fmt::format("{} of {} weights are left ({}): the model is smaller, and computes less", pruned.weights_after,
                       pruned.weights_before, share_text(pruned.weights_after, pruned.weights_before));
  const auto bytes = [](int64_t n) { return human_bytes(static_cast<double>(n)); };
  int64_t all = 0, gone = 0;
  for (const PrunedPart& part : pruned.parts) all += part.all, gone += part.gone;
  return fmt::format(
      "{} of {} weights in {} layers are 0 ({}). As a bitmap and the values that are left, all weights {} {} "
      "instead of {}{}. Kernels multiply by zeros, too",
      gone, all, pruned.parts.size(), share_text(gone, all), pruned.is_sparse ? "take" : "would take",
      bytes(pruned.stored.sparse), bytes(pruned.stored.whole),
      pruned.is_sparse ? "" : " (--store sparse); the file stores zeros as other numbers");
}

void add_measured(Record& record, const BenchResult& measured) {
  Record timed = view_of(measured);
  for (Block& block : timed.sections.at(0).blocks)
    if (const Table* table = std::get_if<Table>(&block); table && table->key == "results")
      record.sections.push_back({"Measured", {std::move(block)}});
}

}  // namespace

Record view_of(const PrunedModel& pruned, const Model& original, const std::string& output, const SavedModel& saved,
               const std::optional<BenchResult>& measured) {
  Record record{.title = fmt::format("{} pruned", original.name),
                .findings = {effect(pruned)},
                .sections = {{"Pruned", {part_table(pruned)}}},
                .machine = describe(environment())};
  record.findings.insert(record.findings.end(), pruned.passed_over.begin(), pruned.passed_over.end());
  for (size_t i = 0; i < pruned.trained.size(); ++i) {
    const StageTraining& stage = pruned.trained[i];
    record.findings.push_back(
        fmt::format("stage {}: {}", i + 1, how_trained(stage.outcome, stage.data_rows, stage.data)));
  }
  record.findings.push_back(size_finding(output, saved, original));
  add_check(record, output, saved);
  if (measured) add_measured(record, *measured);
  if (!original.weight_files.empty())
    record.manifest.push_back({"input", original.path, original.sha256(), original.file_bytes});
  record.manifest.push_back({"output", output, sha256_of_file(output), saved.bytes});
  return record;
}

}  // namespace hone
