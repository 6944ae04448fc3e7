#include "base/regex.h"

#include <re2/re2.h>

#include "base/error.h"

namespace hone {
namespace {

// For the pattern's program and for what matching remembers of it: `.{1000}` of all characters takes a tenth.
constexpr int64_t kMemory = 4 << 20;
constexpr size_t kShownCharacters = 60;

re2::RE2::Options options() {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMemory);
  return options;
}

std::string shown(const std::string& text) {
  return text.size() <= kShownCharacters ? text : text.substr(0, kShownCharacters) + "…";
}

}  // namespace

Regex::Regex(const std::string& pattern) : regex_(std::make_shared<const re2::RE2>(pattern, options())) {
  if (!regex_->ok()) fail("\"{}\" is not a regular expression of RE2: {}", shown(pattern), shown(regex_->error()));
}

bool Regex::search(std::string_view text) const { return re2::RE2::PartialMatch(text, *regex_); }

bool Regex::matches(std::string_view text) const { return re2::RE2::FullMatch(text, *regex_); }

}  // namespace hone
