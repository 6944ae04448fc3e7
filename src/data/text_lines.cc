#include "data/text_lines.h"

#include "base/error.h"
#include "base/memory_limit.h"
#include "base/stop.h"

namespace hone {

std::string_view checked_text(std::string_view bytes, const std::string& source) {
  if (bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff"))
    fail("{}: is UTF-16; UTF-8 is read. Try: iconv -f UTF-16 -t UTF-8", source);
  if (const size_t nul = bytes.find('\0'); nul != std::string_view::npos)
    fail("{}: a NUL at byte {}; not a text file", source, nul);
  constexpr int64_t kCopies = 2;  // cells, and what grows has room to spare
  require_memory(kCopies * std::ssize(bytes), fmt::format("{}: what it holds", source));
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (bytes.starts_with(kMark)) bytes.remove_prefix(kMark.size());
  return bytes;
}

std::optional<std::string_view> TextLines::next() {
  if (rest_.empty()) return std::nullopt;
  check_stop();
  ++line_;
  const size_t end = rest_.find('\n');
  std::string_view line = rest_.substr(0, end);
  if (line.size() > kMostLineBytes)
    fail("{}:{}: a line of {} bytes; at most {} are read", source_, line_, line.size(), kMostLineBytes);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace hone
