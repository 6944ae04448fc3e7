// What the readers of plain tables share: their options, and the line that names the columns.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/table_builder.h"

namespace hone {

// kTableOptions and one more.
constexpr auto table_options(const char* more) {
  std::array<const char*, std::size(kTableOptions) + 1> all{};
  *std::ranges::copy(kTableOptions, all.begin()).out = more;
  return all;
}

// The data set of rows that `next` gives one by one: it fills the cells and returns the line, or none at the end. The
// first row has the names of the columns, or with no_header tells how many there are. Throws Error for no rows.
Dataset build_table(const std::string& source, const DataOptions& options,
                    const std::function<std::optional<int64_t>(std::vector<std::string>& cells)>& next);

}  // namespace hone
