// A record as a terminal shows it first: of long tables the rows that matter, and how to see all.
#pragma once

#include <span>

#include "report/record.h"

namespace hone {

// The rows of a table that matter are those with the smallest numbers in a column, or the largest.
struct ShortTable {
  const char *table, *column;  // their keys
  bool largest = false;
};
constexpr size_t kRowsShown = 10;

// Tables with more than kRowsShown rows have those alone, in that order, and a note that says so; `all`: how to see
// the others ("-v").
Record shortened(Record record, std::span<const ShortTable> tables, const std::string& all);

}  // namespace hone
