// Comma-separated values as RFC 4180 has them: cells in quotes may hold commas, line ends and doubled quotes. A quote
// inside a cell that does not begin with one is a character like others, as other readers take it. Empty lines are
// passed over.
#include <array>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/stop.h"
#include "data/reader.h"
#include "data/readers/parse.h"
#include "data/table_builder.h"
#include "data/table_columns.h"
#include "data/text_lines.h"

namespace hone {
namespace {

class CsvParser {
 public:
  CsvParser(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  // The next row that is not an empty line; false at the end.
  bool next(std::vector<std::string>& cells) {
    do {
      if (at_ == text_.size()) return false;
      check_stop();
      read_row(cells);
    } while (cells.size() == 1 && cells[0].empty() && !was_quoted_);
    return true;
  }
  int64_t line() const { return row_line_; }  // where the row begins, from 1

 private:
  void read_row(std::vector<std::string>& cells) {
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

  std::string plain() {
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

  std::string quoted() {
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

  bool accept(std::string_view next) {
    if (!text_.substr(at_).starts_with(next)) return false;
    at_ += next.size();
    return true;
  }

  void check_length() const {
    if (at_ - row_begin_ > kMostLineBytes)
      fail("{}:{}: a row of more than {} bytes; is a quote missing?", source_, row_line_, kMostLineBytes);
  }

  std::string_view text_;
  const std::string& source_;
  size_t at_ = 0, row_begin_ = 0;
  int64_t line_ = 1, row_line_ = 1;
  bool was_quoted_ = false;  // the last cell
};

constexpr std::array kOptions = table_options("no-header");

bool recognises(const std::string& path) { return path.ends_with(".csv"); }

Dataset read(const std::string& path, const DataOptions& options) {
  const MappedFile file(path);
  return parse_csv({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, path, options);
}

}  // namespace

Dataset parse_csv(std::string_view bytes, const std::string& source, const DataOptions& options) {
  CsvParser parser(checked_text(bytes, source), source);
  return build_table(source, options, [&](std::vector<std::string>& cells) -> std::optional<int64_t> {
    if (!parser.next(cells)) return std::nullopt;
    return parser.line();
  });
}

extern constinit const ReaderDef csv_def{.name = "csv",
                                         .doc = "comma-separated values (RFC 4180), the first line names the columns",
                                         .example = "reviews.csv",
                                         .options = kOptions,
                                         .recognises = recognises,
                                         .read = read};

}  // namespace hone
