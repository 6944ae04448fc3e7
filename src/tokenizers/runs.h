// Runs of characters of one kind: the patterns of Replace and of simple splits.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hone {

// Bytes of a text; empty: nothing found.
struct Span {
  size_t begin = 0, end = 0;
};

struct RunPattern {
  const char* pattern;         // as a regular expression
  bool (*contains)(char32_t);  // the characters of a run
  size_t least, most;          // characters of a run
};

// Throws Error that quotes a pattern that is none of the known ones.
const RunPattern& run_pattern(std::string_view pattern, const std::string& source);
// nullptr when there is none such.
const RunPattern* find_run_pattern(std::string_view pattern);

// The first run that begins at byte `from` or later.
Span next_run(const RunPattern& run, std::string_view text, size_t from);

}  // namespace hone
