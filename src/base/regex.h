// Regular expressions in RE2's syntax: time linear in the text, whatever the pattern, and bounded memory
// (docs/decisions/regular-expressions.md). A value, cheap to copy.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace hone {

class Regex {
 public:
  // Throws Error with RE2's reason for a pattern that is none, or too large.
  explicit Regex(const std::string& pattern);

  bool search(std::string_view text) const;   // matches some part of it
  bool matches(std::string_view text) const;  // matches all of it

 private:
  std::shared_ptr<const re2::RE2> regex_;
};

}  // namespace hone
