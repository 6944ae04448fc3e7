// Text files of rows, whatever separates their cells.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hone {

constexpr size_t kMostLineBytes = 16 << 20;  // far above any row of text; a file without line ends is found out here

// The text without its byte order mark, held against the memory limit as the rows that it becomes. Throws Error:
// UTF-16, or a NUL byte, which no text file has.
std::string_view checked_text(std::string_view bytes, const std::string& source);

// The lines of a text without their ends (\n or \r\n), one after the other.
class TextLines {
 public:
  TextLines(std::string_view text, const std::string& source) : rest_(text), source_(source) {}
  std::optional<std::string_view> next();   // Error for a line above kMostLineBytes
  int64_t number() const { return line_; }  // of the last one, from 1

 private:
  std::string_view rest_;
  const std::string& source_;
  int64_t line_ = 0;
};

}  // namespace hone
