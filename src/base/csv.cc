#include "base/csv.h"

#include <algorithm>

#include "base/error.h"
#include "base/stop.h"

namespace hone {

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == text.npos) return text;
  std::string cell = "\"";
  for (char c : text) cell += c == '"' ? "\"\"" : std::string(1, c);
  return cell + '"';
}

bool CsvReader::next(std::vector<std::string>& cells) {
  do {
    if (at_ == text_.size()) return false;
    check_stop();
    read_row(cells);
  } while (cells.size() == 1 && cells[0].empty() && !was_quoted_);
  return true;
}

void CsvReader::read_row(std::vector<std::string>& cells) {
  cells.clear();
  row_line_ = line_;
  row_begin_ = at_;
  do {
    cells.push_back(at_ < text_.size() && text_[at_] == '"' ? quoted() : plain());
  } while (accept(","));
  if (at_ < text_.size()) {
    if (!accept("\r\n") && !accept("\n"))
      fail("{}:{}: something follows the closing quote of a cell; expected a comma or the end of the line", source_,
           line_);
    ++line_;
  }
}

std::string CsvReader::plain() {
  was_quoted_ = false;
  const size_t end = std::min(text_.find_first_of(",\n", at_), text_.size());
  std::string_view cell = text_.substr(at_, end - at_);
  at_ = end;
  if (cell.ends_with('\r') && end < text_.size() && text_[end] == '\n') {
    cell.remove_suffix(1);
    --at_;  // the line end begins there
  }
  check_length();
  return std::string(cell);
}

std::string CsvReader::quoted() {
  was_quoted_ = true;
  const int64_t opened = line_;
  std::string cell;
  for (++at_;;) {
    const size_t end = text_.find('"', at_);
    if (end == std::string_view::npos) fail("{}:{}: a cell in quotes does not end", source_, opened);
    const std::string_view piece = text_.substr(at_, end - at_);
    for (char c : piece) line_ += c == '\n';
    cell += piece;
    at_ = end + 1;
    check_length();
    if (!accept("\"")) return cell;
    cell += '"';
  }
}

bool CsvReader::accept(std::string_view next) {
  if (!text_.substr(at_).starts_with(next)) return false;
  at_ += next.size();
  return true;
}

void CsvReader::check_length() const {
  if (at_ - row_begin_ > most_row_bytes_)
    fail("{}:{}: a row of more than {} bytes; is a quote missing?", source_, row_line_, most_row_bytes_);
}

}  // namespace hone
