#include "views/squeeze.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/graph_drawing.h"
#include "views/agreement.h"
#include "views/bench.h"
#include "views/quantize_tables.h"
#include "views/saved_model.h"

namespace hone {
namespace {

BarChart sqnr_bars(const std::vector<QuantizedTensor>& tensors) {
  BarChart chart{
      .key = "sqnr", .title = "Signal to quantization noise per tensor", .value = {"SQNR", "dB"}, .bars = {}};
  for (const QuantizedTensor& t : tensors)
    if (t.sqnr_db && std::isfinite(*t.sqnr_db)) chart.bars.push_back({t.choice.name, *t.sqnr_db, t.choice.after});
  return chart;
}

// How outputs agree is said once, over all examples: the comparison's one run would be a second number for it.
void leave_out_agreement(Record& record) {
  for (Section& section : record.sections)
    for (Block& block : section.blocks)
      if (auto* table = std::get_if<Table>(&block); table && table->key == "comparison")
        for (const char* key : {"cosine", "max_abs_error", "top1"}) {
          const auto found = std::ranges::find(table->columns, std::string(key), &Column::key);
          if (found == table->columns.end()) continue;
          const auto column = found - table->columns.begin();
          table->columns.erase(found);
          for (std::vector<Cell>& row : table->rows) row.erase(row.begin() + column);
        }
}

}  // namespace

Record view_of(const SqueezeResult& result, const Model& model, const std::string& output) {
  Record record = view_of(result.timed);
  leave_out_agreement(record);
  record.title = fmt::format("{} squeezed", model.name);
  record.findings.insert(record.findings.begin(), size_finding(output, result.saved, model));
  add_check(record, output, result.saved);
  for (std::string& line : findings_of(result.agreement, result.examples)) record.findings.push_back(std::move(line));
  for (Block& table : agreement_tables(result.agreement, fmt::format("Outputs on {}", result.examples)))
    record.sections[0].blocks.push_back(std::move(table));
  if (result.kept) record.findings.push_back(*result.kept);
  std::vector<Block> tensors = describe(result.quantized, Listed::changed);
  if (BarChart bars = sqnr_bars(result.quantized.tensors); !bars.bars.empty())
    tensors.insert(tensors.begin(), std::move(bars));
  record.sections.push_back({"Tensors", std::move(tensors)});
  record.sections.push_back({"Graph", {graph_drawing(result.quantized.graph, "The written model")}});
  record.manifest[1].role = "output";
  return record;
}

}  // namespace hone
