#include "labs/quick_reviews.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/csv.h"

namespace hone {
namespace {

void add_row(std::string& csv, const std::vector<std::string>& cells) {
  for (size_t i = 0; i < cells.size(); ++i) csv += (i ? "," : "") + csv_cell(cells[i]);
  csv += "\n";
}

}  // namespace

std::string first_of_each_split(const std::string& csv, const std::string& source, size_t rows, size_t judged) {
  CsvReader reader(csv, source);
  std::vector<std::string> names, row;
  std::string few;
  if (!reader.next(names)) return few;
  add_row(few, names);
  const auto split = static_cast<size_t>(std::ranges::find(names, "split") - names.begin());
  std::map<std::string, size_t> taken;
  while (reader.next(row)) {
    const std::string name = split < row.size() ? row[split] : "train";
    if (taken[name]++ < (name == "train" ? rows : judged)) add_row(few, row);
  }
  return few;
}

}  // namespace hone
