#include "report/short_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace hone {
namespace {

// What is no number comes last.
double rank_of(const Cell& cell, bool largest) {
  const Number* number = std::get_if<Number>(&cell);
  if (!number || std::isnan(number->value)) return std::numeric_limits<double>::infinity();
  return largest ? -number->value : number->value;
}

void shorten(Table& table, const ShortTable& by, const std::string& all) {
  const auto column = std::ranges::find(table.columns, std::string(by.column), &Column::key);
  const size_t rows = table.rows.size();
  if (column == table.columns.end() || rows <= kRowsShown) return;
  const auto at = static_cast<size_t>(column - table.columns.begin());
  std::ranges::stable_sort(table.rows, {}, [&](const std::vector<Cell>& row) { return rank_of(row[at], by.largest); });
  table.rows.resize(kRowsShown);
  const std::string shown = fmt::format("{} of {} rows, those of the {} {}; {} shows all.", kRowsShown, rows,
                                        by.largest ? "largest" : "least", column->title, all);
  table.note = table.note.empty() ? shown : shown + " " + table.note;
}

}  // namespace

Record shortened(Record record, std::span<const ShortTable> tables, const std::string& all) {
  for (Section& section : record.sections)
    for (Block& block : section.blocks)
      if (auto* table = std::get_if<Table>(&block))
        for (const ShortTable& shown : tables)
          if (table->key == shown.table) shorten(*table, shown, all);
  return record;
}

}  // namespace hone
