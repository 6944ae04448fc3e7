// Where the rows that are appended to paged sequences go: what the op and its kernel agree on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "formats/format.h"

namespace hone {

// For the page table [sequences, pages of a sequence], the sequences' lengths and `count` new rows of each, in pages of
// `page_rows` rows, of which there are `pages`.
struct PageRows {
  std::span<const int64_t> table, lengths;
  int64_t new_rows = 0, page_rows = 1, pages = 0;

  int64_t count() const { return std::ssize(lengths) * new_rows; }
  int64_t at(int64_t i) const;  // the row, counted over all pages, that row i of all new ones goes to
  // What is wrong, empty where nothing is: a length below 0, rows past the table's pages, pages that there are not, a
  // place that two rows go to.
  std::string fault() const;
};

// Throws Error unless each row of a tensor in that format has codes and scales of its own.
void expect_rows_alone(const Format& format);

}  // namespace hone
