#include "base/json_events.h"

#include <array>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"

namespace hone {
namespace {

constexpr size_t kMaxDepth = 64;

constexpr std::array<bool, 256> plain_characters() {
  std::array<bool, 256> plain{};
  for (size_t c = 0x20; c < 0x80; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}
constexpr std::array<bool, 256> kIsPlain = plain_characters();

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Reader {
 public:
  Reader(std::string_view text, const std::string& source, JsonEvents& events)
      : text_(text), source_(source), events_(events) {}

  void read() {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // a byte order mark
    value();
    while (!open_.empty()) member();
    skip_blanks();
    if (at_ < text_.size()) refuse("text after the value");
  }

 private:
  [[noreturn]] void refuse(const char* what) const { fail("{}: not valid JSON at byte {}: {}", source_, at_, what); }

  // The next byte, or NUL at the end, which no place of the grammar accepts.
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
      ++at_;
  }
  void expect(char c, const char* what) {
    if (peek() != c) refuse(what);
    ++at_;
  }

  // A member of the innermost object or array, or its end.
  void member() {
    const bool object = open_.back() == '}';
    skip_blanks();
    if (peek() == open_.back()) {
      ++at_;
      open_.pop_back();
      is_first_ = false;
      return events_.end();
    }
    if (!is_first_) {
      expect(',', "expected a comma or the end of a list or an object");
      skip_blanks();
    }
    if (object) {
      expect('"', "expected a key in quotes");
      events_.key(text());
      skip_blanks();
      expect(':', "expected a colon");
    }
    value();
  }

  void open(char end) {
    if (open_.size() == kMaxDepth) fail("{}: JSON nested deeper than {}", source_, kMaxDepth);
    ++at_;
    open_.push_back(end);
    is_first_ = true;
  }

  void value() {
    skip_blanks();
    const char c = peek();
    if (c == '{') return open('}'), events_.begin_object();
    if (c == '[') return open(']'), events_.begin_array();
    is_first_ = false;
    if (c == '"') return ++at_, events_.string(text());
    if (c == '-' || is_digit(c)) return events_.number(number());
    for (std::string_view name : {"true", "false", "null"})
      if (text_.substr(at_).starts_with(name)) return at_ += name.size(), events_.literal(name);
    refuse(at_ == text_.size() ? "the text ends early" : "expected a value");
  }

  void digits() {
    if (!is_digit(peek())) refuse("expected a digit");
    while (is_digit(peek())) ++at_;
  }

  std::string_view number() {
    const size_t begin = at_;
    if (peek() == '-') ++at_;
    if (peek() == '0') ++at_;
    else digits();
    if (peek() == '.') ++at_, digits();
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      digits();
    }
    return text_.substr(begin, at_ - begin);
  }

  // Moves over what a text holds as it is: valid UTF-8 up to a quote, an escape or a control character.
  void skip_plain() {
    for (;;) {
      while (at_ < text_.size() && kIsPlain[static_cast<unsigned char>(text_[at_])]) ++at_;
      if (at_ == text_.size() || static_cast<unsigned char>(text_[at_]) < 0x80) return;
      const Utf8Part part = first_utf8_part(text_.substr(at_));
      if (!part.valid) refuse("the text is not UTF-8");
      at_ += part.bytes;
    }
  }

  // A text whose opening quote was read: a view of the file unless there are escapes in it.
  std::string_view text() {
    size_t begin = at_;
    skip_plain();
    if (peek() == '"') return text_.substr(begin, at_++ - begin);
    unescaped_.assign(text_.substr(begin, at_ - begin));
    for (;;) {
      const char c = peek();
      if (static_cast<unsigned char>(c) < 0x20)
        refuse(at_ == text_.size() ? "a text without end" : "a control character in a text");
      ++at_;
      if (c == '"') return unescaped_;
      escape();
      begin = at_;
      skip_plain();
      unescaped_ += text_.substr(begin, at_ - begin);
    }
  }

  void escape() {
    constexpr std::string_view kNames = "\"\\/bfnrt", kValues = "\"\\/\b\f\n\r\t";
    const char c = peek();
    if (const size_t known = kNames.find(c); at_ < text_.size() && known != std::string_view::npos) {
      ++at_;
      unescaped_ += kValues[known];
      return;
    }
    expect('u', "an unknown escape");
    char32_t point = hexadecimal();
    if (point >= 0xd800 && point < 0xdc00) {  // the first of a pair of surrogates
      expect('\\', "half a pair of surrogates");
      expect('u', "half a pair of surrogates");
      const char32_t low = hexadecimal();
      if (low < 0xdc00 || low >= 0xe000) refuse("half a pair of surrogates");
      point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
    } else if (point >= 0xdc00 && point < 0xe000) {
      refuse("half a pair of surrogates");
    }
    append_utf8(unescaped_, point);
  }

  char32_t hexadecimal() {
    char32_t value = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = peek();
      const int digit = is_digit(c)            ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) refuse("expected four hexadecimal digits");
      value = value << 4 | static_cast<char32_t>(digit);
    }
    return value;
  }

  std::string_view text_;
  const std::string& source_;
  JsonEvents& events_;
  size_t at_ = 0;
  bool is_first_ = true;    // no member of the innermost was read yet
  std::vector<char> open_;  // the brackets that will close what is open
  std::string unescaped_;
};

}  // namespace

void read_json_events(std::string_view text, const std::string& source, JsonEvents& events) {
  Reader(text, source, events).read();
}

}  // namespace hone
