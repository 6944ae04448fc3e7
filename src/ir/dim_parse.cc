// Dim::parse: sums of products of symbols, integers and parentheses; / is floor division, all operators associate to
// the left.
#include "ir/dim_parse.h"

#include <charconv>
#include <limits>

#include "base/error.h"
#include "ir/dim.h"

namespace hone {
namespace {

constexpr int kMaxDepth = 64;      // of parentheses and signs: texts come from files
constexpr size_t kMaxName = 1000;  // characters of a symbol
constexpr size_t kShown = 100;     // characters of a text that is wrong
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class DimParser {
 public:
  explicit DimParser(std::string_view text) : text_(text) {}

  Dim whole() {
    const Dim dim = sum();
    if (peek() != 0) wrong("an operator or the end");
    return dim;
  }

 private:
  [[noreturn]] void wrong(const char* expected) const {
    fail("dimension \"{}\": expected {} at column {}; write e.g. 128, S, B*S, (S+1)/2", text_.substr(0, kShown),
         expected, at_ + 1);
  }
  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : char{0};
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  Dim sum() {
    if (++depth_ > kMaxDepth) wrong("less nesting");
    Dim value = product();
    for (;;) {
      if (accept('+')) value = value + product();
      else if (accept('-')) value = value + negative_product();
      else break;
    }
    --depth_;
    return value;
  }
  Dim product() { return times(factor()); }
  Dim negative_product() { return accept_2_63() ? times(kLeast) : Dim(-1) * product(); }  // behind a '-'
  Dim times(Dim value) {
    for (;;) {
      if (accept('*')) value = value * factor();
      else if (accept('/')) value = floordiv(value, factor());
      else return value;
    }
  }
  Dim factor() {
    if (accept('-')) {
      if (accept_2_63()) return kLeast;
      if (++depth_ > kMaxDepth) wrong("less nesting");
      const Dim value = Dim(-1) * factor();
      --depth_;
      return value;
    }
    if (accept('(')) {
      const Dim value = sum();
      if (!accept(')')) wrong("')'");
      return value;
    }
    if (is_digit(peek())) return integer();
    if (!is_letter(peek())) wrong("a number, a symbol or '('");
    const size_t start = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    if (at_ - start > kMaxName) wrong("a shorter name");
    return Dim::symbol(text_.substr(start, at_ - start));
  }
  // A number only behind a '-': its opposite is none.
  bool accept_2_63() {
    constexpr std::string_view kDigits = "9223372036854775808";
    if (!is_digit(peek()) || !text_.substr(at_).starts_with(kDigits)) return false;
    const size_t end = at_ + kDigits.size();
    if (end < text_.size() && is_digit(text_[end])) return false;
    at_ = end;
    return true;
  }
  Dim integer() {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) wrong("a number below 2^63");
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

bool is_symbol_name(std::string_view name) {
  if (name.empty() || !is_letter(name[0])) return false;
  for (char c : name)
    if (!is_letter(c) && !is_digit(c)) return false;
  return true;
}

Dim Dim::parse(std::string_view text) { return DimParser(text).whole(); }

}  // namespace hone
