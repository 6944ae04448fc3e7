#include "jobs/format_list.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "formats/format.h"

namespace hone {
namespace {

constexpr size_t kMost = 10'000;  // formats of one pattern

std::vector<std::string> split_outside_braces(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (char c : text) {
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (c == ',' && depth == 0) parts.emplace_back();
    else parts.back() += c;
  }
  return parts;
}

std::optional<int> to_int(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// What stands between two braces.
std::vector<std::string> alternatives(const std::string& pattern, const std::string& inside) {
  const size_t dots = inside.find("..");
  if (dots == std::string::npos) return split(inside, ',');
  const auto first = to_int(inside.substr(0, dots)), last = to_int(inside.substr(dots + 2));
  if (!first || !last || std::abs(int64_t{*last} - *first) >= static_cast<int64_t>(kMost))
    fail("formats \"{}\": {{{}}} is no range of whole numbers such as {{4..8}}", pattern, inside);
  std::vector<std::string> numbers;
  for (int i = *first;; i += *first <= *last ? 1 : -1) {
    numbers.push_back(std::to_string(i));
    if (i == *last) return numbers;
  }
}

std::vector<std::string> expand(const std::string& pattern) {
  std::vector<std::string> texts(1);
  for (size_t at = 0; at < pattern.size();) {
    if (pattern[at] == '}') fail("formats \"{}\": a }} without its {{", pattern);
    if (pattern[at] != '{') {
      for (std::string& text : texts) text += pattern[at];
      ++at;
      continue;
    }
    const size_t close = pattern.find_first_of("{}", at + 1);
    if (close == std::string::npos || pattern[close] == '{')
      fail("formats \"{}\": a {{ without its }}; braces don't nest", pattern);
    std::vector<std::string> longer;
    for (const std::string& text : texts)
      for (const std::string& choice : alternatives(pattern, pattern.substr(at + 1, close - at - 1)))
        longer.push_back(text + choice);
    if (longer.size() > kMost) fail("formats \"{}\": more than {} formats", pattern, kMost);
    texts = std::move(longer);
    at = close + 1;
  }
  return texts;
}

}  // namespace

std::vector<std::string> parse_format_list(const std::vector<std::string>& patterns) {
  std::vector<std::string> formats;
  for (const std::string& list : patterns)
    for (const std::string& pattern : split_outside_braces(list))
      for (const std::string& text : expand(pattern)) {
        std::string canonical;
        try {
          canonical = to_string(parse_format(text));
        } catch (const Error& e) {
          if (text == pattern) throw;
          fail("formats \"{}\": {}", pattern, e.what());
        }
        if (std::ranges::find(formats, canonical) == formats.end()) formats.push_back(canonical);
      }
  return formats;
}

std::string format_family(const std::string& format) {
  const std::string head = format.substr(0, format.find('.'));
  const std::string options = format.substr(head.size());
  return head.substr(0, head.find_first_of("_0123456789")) + options;
}

}  // namespace hone
