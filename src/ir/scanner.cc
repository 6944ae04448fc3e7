#include "ir/scanner.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "ir/value_name.h"

namespace hone {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_letter(c) || (c >= '0' && c <= '9'); }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

size_t Scanner::skip() {
  while (at_ < text_.size()) {
    if (text_[at_] == '#') at_ = std::min(text_.find('\n', at_), text_.size());
    else if (is_space(text_[at_])) ++at_;
    else break;
  }
  return at_;
}

void Scanner::fail_at(size_t offset, const std::string& message) const {
  const std::string_view before = text_.substr(0, offset);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  fail("{}:{}:{}: {}", source_, line, offset - start + 1, message);
}

void Scanner::expected(const std::string& what) {
  const size_t begin = skip();
  size_t end = begin;
  while (end < text_.size() && end < begin + 20 && !is_space(text_[end])) ++end;
  const std::string found =
      begin == text_.size() ? "the end of the text" : fmt::format("\"{}\"", text_.substr(begin, end - begin));
  fail_at(begin, fmt::format("expected {}, found {}", what, found));
}

char Scanner::peek() {
  skip();
  return at_ < text_.size() ? text_[at_] : char{0};
}

bool Scanner::on_new_line() {
  const size_t from = at_;
  const std::string_view between = text_.substr(from, skip() - from);
  at_ = from;
  return between.find('\n') != std::string_view::npos;
}

bool Scanner::accept(char c) {
  if (peek() != c || c == 0) return false;
  ++at_;
  return true;
}

bool Scanner::accept_word(std::string_view word) {
  skip();
  if (text_.substr(at_, word.size()) != word) return false;
  const size_t end = at_ + word.size();
  if (end < text_.size() && is_word(text_[end])) return false;
  at_ = end;
  return true;
}

void Scanner::expect(char c) {
  if (!accept(c)) expected(fmt::format("'{}'", c));
}

std::string Scanner::identifier(const char* what) {
  if (!is_letter(peek())) expected(what);
  const size_t begin = at_;
  while (at_ < text_.size() && is_word(text_[at_])) ++at_;
  return std::string(text_.substr(begin, at_ - begin));
}

std::string Scanner::value_name() {
  expect('%');
  const size_t begin = at_;
  while (at_ < text_.size() && is_value_name_char(text_[at_])) ++at_;
  if (begin == at_) expected("a value's name after '%'");
  return std::string(text_.substr(begin, at_ - begin));
}

std::string Scanner::quoted() {
  const size_t begin = skip();
  if (!accept('"')) expected("a text in double quotes");
  std::string value;
  while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') {
    char c = text_[at_++];
    if (c == '\\') {
      const char escape = at_ < text_.size() ? text_[at_++] : char{0};
      if (escape == 'n') c = '\n';
      else if (escape == 't') c = '\t';
      else if (escape == '"' || escape == '\\') c = escape;
      else if (escape == 'x' && at_ + 1 < text_.size() && hex_digit(text_[at_]) >= 0 &&
               hex_digit(text_[at_ + 1]) >= 0) {
        c = static_cast<char>(hex_digit(text_[at_]) * 16 + hex_digit(text_[at_ + 1]));
        at_ += 2;
      } else {
        fail_at(at_ - 1, "unknown escape; known: \\\" \\\\ \\n \\t \\xHH");
      }
    }
    value += c;
  }
  if (at_ == text_.size() || text_[at_] != '"') fail_at(begin, "the text in double quotes does not end on its line");
  ++at_;
  return value;
}

std::string_view Scanner::until(std::string_view stops) {
  const size_t begin = skip();
  int depth = 0;
  while (at_ < text_.size() && text_[at_] != '\n') {
    const char c = text_[at_];
    if (depth == 0 && stops.find(c) != std::string_view::npos) break;
    depth += (c == '(' || c == '[') - (c == ')' || c == ']');
    ++at_;
  }
  const std::string_view found = trim(text_.substr(begin, at_ - begin));
  if (found.empty()) expected("a value");
  return found;
}

std::string quote(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') quoted += '\\', quoted += c;
    else if (c == '\n') quoted += "\\n";
    else if (c == '\t') quoted += "\\t";
    else if (static_cast<unsigned char>(c) < 32 || c == 127)
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else quoted += c;
  }
  return quoted + '"';
}

}  // namespace hone
