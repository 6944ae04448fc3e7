#include "report/short_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace hone {
namespace {

// What is no number comes last.
double rank_of(const Cell& cell) {
  const Number* number = std::get_if<Number>(&cell);
  return number && !std::isnan(number->value) ? number->value : std::numeric_limits<double>::infinity();
}

void shorten(Table& table, const std::string& key, const std::string& all) {
  const auto column = std::ranges::find(table.columns, key, &Column::key);
  const size_t rows = table.rows.size();
  if (column == table.columns.end() || rows <= kRowsShown) return;
  const auto at = static_cast<size_t>(column - table.columns.begin());
  std::ranges::stable_sort(table.rows, {}, [&](const std::vector<Cell>& row) { return rank_of(row[at]); });
  table.rows.resize(kRowsShown);
  const std::string shown =
      fmt::format("{} of {} rows, those of the least {}; {} shows all.", kRowsShown, rows, column->title, all);
  table.note = table.note.empty() ? shown : shown + " " + table.note;
}

}  // namespace

Record shortened(Record record, std::span<const ShortTable> tables, const std::string& all) {
  for (Section& section : record.sections)
    for (Block& block : section.blocks)
      if (auto* table = std::get_if<Table>(&block))
        for (const ShortTable& shown : tables)
          if (table->key == shown.table) shorten(*table, shown.column, all);
  return record;
}

}  // namespace hone
