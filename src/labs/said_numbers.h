// Sentences about tables say the tables' own numbers, as the tables show them.
#pragma once

#include <string>
#include <vector>

#include "report/record.h"

namespace hone {

// A cell as the table shows it, without an interval: the row is the one whose first cells are `names`.
std::string said(const Table& table, const std::vector<std::string>& names, const std::string& column);
double value_of(const Table& table, const std::vector<std::string>& names, const std::string& column);

// Of a row beside another, by their intervals: "lies above", "lies below" or "is not shown to differ from".
std::string relation(const Table& table, const std::vector<std::string>& names, const std::vector<std::string>& others,
                     const std::string& column);

// Numbers that the sentences hold and no table does.
std::vector<std::string> numbers_not_in_tables(const std::vector<std::string>& sentences,
                                               const std::vector<Section>& sections);

}  // namespace hone
