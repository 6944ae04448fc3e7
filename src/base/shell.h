// Words of a command line as a shell reads them: whatever hone prints to be typed again is made here.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

// As sh reads it back, to the same bytes: 'it'\''s'. A word that means itself stays as it is.
std::string shell_quoted(std::string_view word);
std::string shell_line(std::span<const std::string> words);

// The words of such a line.
std::vector<std::string> shell_words(std::string_view line);

}  // namespace hone
