#include "tokenizers/runs.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/utf8.h"
#include "tokenizers/unicode.h"

namespace hone {
namespace {

constexpr size_t kAny = std::numeric_limits<size_t>::max();

bool is_blank(char32_t c) { return c == ' '; }
bool is_number(char32_t c) { return class_of(c) == CharClass::number; }

constexpr RunPattern kPatterns[] = {
    {" {2,}", is_blank, 2, kAny},     {" +", is_blank, 1, kAny},       {"[ ]{2,}", is_blank, 2, kAny},
    {"\\s+", is_whitespace, 1, kAny}, {"\\s", is_whitespace, 1, 1},    {"\\s{2,}", is_whitespace, 2, kAny},
    {"\\p{N}{1,3}", is_number, 1, 3}, {"\\p{N}+", is_number, 1, kAny}, {"\\p{N}", is_number, 1, 1},
};

}  // namespace

const RunPattern* find_run_pattern(std::string_view pattern) {
  const auto found =
      std::ranges::find(kPatterns, pattern, [](const RunPattern& p) { return std::string_view(p.pattern); });
  return found == std::end(kPatterns) ? nullptr : found;
}

const RunPattern& run_pattern(std::string_view pattern, const std::string& source) {
  if (const RunPattern* found = find_run_pattern(pattern)) return *found;
  std::vector<std::string> known;
  for (const RunPattern& p : kPatterns) known.push_back(fmt::format("\"{}\"", p.pattern));
  fail("{}: the pattern \"{}\" is not supported; supported: {}", source, pattern, fmt::join(known, ", "));
}

Span next_run(const RunPattern& run, std::string_view text, size_t from) {
  for (size_t begin = from; begin < text.size();) {
    size_t end = begin, count = 0;
    for (size_t next = end; next < text.size() && count < run.most; end = next, ++count)
      if (!run.contains(next_code_point(text, next))) break;
    if (count >= run.least) return {begin, end};
    begin = count > 0 ? end : begin + utf8_length(text[begin]);
  }
  return {};
}

}  // namespace hone
