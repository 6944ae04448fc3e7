// The regular expressions by which byte-level tokenizers cut a text into words, as functions. They are a closed set:
// files state them as text, and no library at hand matches them all (look-ahead, classes of Unicode, in linear time).
#pragma once

#include <cstddef>
#include <string_view>

namespace hone {

// The end of what the pattern matches at byte `at` of valid UTF-8, or `at` when it matches nothing there.
using Matcher = size_t (*)(std::string_view text, size_t at);

struct SplitPattern {
  const char* name;  // of the family that it is best known by
  const char* pattern;
  Matcher match;
};

// nullptr when there is none such.
const SplitPattern* find_split_pattern(std::string_view pattern);
// The pattern of a name, which must be one of them.
const char* split_pattern_of(std::string_view name);
// For messages.
extern const char* const kSplitPatternNames;

size_t match_gpt2(std::string_view text, size_t at);

}  // namespace hone
