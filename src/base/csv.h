// Comma-separated values as RFC 4180 has them: cells in quotes may hold commas, line ends and doubled quotes. A quote
// inside a cell that does not begin with one is a character like others, as other readers take it. Empty lines are
// passed over.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

// A cell as it is written: in quotes where it needs them.
std::string csv_cell(const std::string& text);

// Reads row by row. Errors begin with the source and the line. `text` and `source` must outlive it.
class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& source, size_t most_row_bytes = 16 << 20)
      : text_(text), source_(source), most_row_bytes_(most_row_bytes) {}

  // The next row that is not an empty line; false at the end. Throws Error for a quote that does not end, for what
  // follows one, and for a row that is too long.
  bool next(std::vector<std::string>& cells);
  int64_t line() const { return row_line_; }  // where the row begins, from 1

 private:
  void read_row(std::vector<std::string>& cells);
  std::string plain();
  std::string quoted();
  bool accept(std::string_view next);
  void check_length() const;

  std::string_view text_;
  const std::string& source_;
  const size_t most_row_bytes_;
  size_t at_ = 0, row_begin_ = 0;
  int64_t line_ = 1, row_line_ = 1;
  bool was_quoted_ = false;  // the last cell
};

}  // namespace hone
