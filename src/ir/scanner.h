// Reads text token by token and says where it stands when something is wrong. Spaces, line ends and # comments separate
// tokens.
#pragma once

#include <string>
#include <string_view>

namespace hone {

class Scanner {
 public:
  Scanner(std::string_view text, std::string source) : text_(text), source_(std::move(source)) {}

  [[noreturn]] void fail_here(const std::string& message) { fail_at(skip(), message); }
  [[noreturn]] void fail_at(size_t offset, const std::string& message) const;  // "source:line:column: message"
  [[noreturn]] void expected(const std::string& what);                         // with what was found instead

  char peek();  // the next token's first character, 0 at the end
  bool at_end() { return peek() == 0; }
  bool on_new_line();                 // a line end lies between the last token and the next
  size_t offset() { return skip(); }  // of the next token
  void rewind(size_t offset) { at_ = offset; }

  bool accept(char c);
  bool accept_word(std::string_view word);  // a whole identifier
  void expect(char c);
  std::string identifier(const char* what);  // [A-Za-z_][A-Za-z0-9_]*
  std::string value_name();                  // after '%'
  std::string quoted();                      // "text", with \" \\ \n \t \xHH
  std::string_view until(
      std::string_view stops);  // the rest up to one of `stops` outside () and [], trimmed, not empty

 private:
  size_t skip();
  std::string_view text_;
  std::string source_;
  size_t at_ = 0;
};

std::string quote(std::string_view text);  // inverse of Scanner::quoted

}  // namespace hone
