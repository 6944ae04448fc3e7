#include "labs/table_csv.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/csv.h"

namespace hone {
namespace {

std::string text_of(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }

const Interval* interval_of(const Cell& cell) {
  const Number* number = std::get_if<Number>(&cell);
  return number && number->interval ? &*number->interval : nullptr;
}

bool has_intervals(const Table& table, size_t column) {
  return std::ranges::any_of(table.rows, [&](const auto& row) { return interval_of(row[column]) != nullptr; });
}

}  // namespace

std::string csv_of(const Table& table) {
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells) {
    for (size_t i = 0; i < cells.size(); ++i) out += (i ? "," : "") + cells[i];
    out += "\n";
  };
  std::vector<std::string> cells;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    const std::string& key = table.columns[c].key;
    cells.push_back(csv_cell(key));
    if (has_intervals(table, c)) cells.push_back(csv_cell(key + "_low")), cells.push_back(csv_cell(key + "_high"));
  }
  line(cells);
  for (const std::vector<Cell>& row : table.rows) {
    cells.clear();
    for (size_t c = 0; c < row.size(); ++c) {
      const Number* number = std::get_if<Number>(&row[c]);
      const std::string* text = std::get_if<std::string>(&row[c]);
      cells.push_back(number ? text_of(number->value) : text ? csv_cell(*text) : "");
      if (!has_intervals(table, c)) continue;
      const Interval* interval = interval_of(row[c]);
      cells.push_back(interval ? text_of(interval->low) : "");
      cells.push_back(interval ? text_of(interval->high) : "");
    }
    line(cells);
  }
  return out;
}

}  // namespace hone
