#include "labs/said_numbers.h"

#include <cctype>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "measure/claim.h"
#include "report/number_text.h"

namespace hone {
namespace {

// Runs of letters, digits and what stands within numbers and names ("84.1", "22,713,216", "int8.f4") that have a
// digit; the signs before and points after them aside.
std::set<std::string> number_words(const std::string& text) {
  std::set<std::string> words;
  std::string word;
  const auto end_word = [&] {
    while (!word.empty() && (word.back() == '.' || word.back() == ',')) word.pop_back();
    for (char c : word)
      if (std::isdigit(static_cast<unsigned char>(c))) {
        words.insert(word);
        break;
      }
    word.clear();
  };
  for (char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (!word.empty() && (c == '.' || c == ','))) word += c;
    else end_word();
  end_word();
  return words;
}

size_t column_of(const Table& table, const std::string& key) {
  for (size_t c = 0; c < table.columns.size(); ++c)
    if (table.columns[c].key == key) return c;
  throw Bug(fmt::format("table {} has no column {}", table.key, key));
}

bool is_named(const std::vector<Cell>& row, const Table& table, const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i)
    if (cell_text(row[i], table.columns[i].style) != names[i]) return false;
  return true;
}

const Cell& cell_of(const Table& table, const std::vector<std::string>& names, size_t column) {
  for (const std::vector<Cell>& row : table.rows)
    if (is_named(row, table, names)) return row[column];
  throw Bug(fmt::format("table {} has no row {}", table.key, fmt::join(names, ", ")));
}

}  // namespace

std::string said(const Table& table, const std::vector<std::string>& names, const std::string& column) {
  const size_t c = column_of(table, column);
  const Cell& cell = cell_of(table, names, c);
  const Number* found = std::get_if<Number>(&cell);
  return found ? number_text(found->value, table.columns[c].style) : cell_text(cell, {});
}

double value_of(const Table& table, const std::vector<std::string>& names, const std::string& column) {
  const Cell& cell = cell_of(table, names, column_of(table, column));
  const Number* found = std::get_if<Number>(&cell);
  return found ? found->value : std::numeric_limits<double>::quiet_NaN();
}

std::string relation(const Table& table, const std::vector<std::string>& names, const std::vector<std::string>& others,
                     const std::string& column) {
  const size_t c = column_of(table, column);
  const auto interval = [&](const std::vector<std::string>& row) {
    const Number* found = std::get_if<Number>(&cell_of(table, row, c));
    return found ? found->interval : std::nullopt;
  };
  switch (shown_apart(interval(names), interval(others))) {
    case Shown::above:
      return "lies above";
    case Shown::below:
      return "lies below";
    case Shown::nothing:
      break;
  }
  return "is not shown to differ from";
}

std::vector<std::string> numbers_not_in_tables(const std::vector<std::string>& sentences,
                                               const std::vector<Section>& sections) {
  std::set<std::string> shown;
  for (const Section& section : sections)
    for (const Block& block : section.blocks)
      if (const Table* table = std::get_if<Table>(&block))
        for (const std::vector<Cell>& row : table->rows)
          for (size_t c = 0; c < row.size(); ++c) shown.merge(number_words(cell_text(row[c], table->columns[c].style)));
  std::vector<std::string> missing;
  for (const std::string& sentence : sentences)
    for (const std::string& word : number_words(sentence))
      if (!shown.contains(word)) missing.push_back(word);
  return missing;
}

}  // namespace hone
