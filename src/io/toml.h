// TOML configuration files, read into an ordered tree.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace hone {

// The tables, arrays, strings, integers, floats and booleans of a TOML 1.0 file, keys in the order of the file (order
// decides between two rules that match). Throws Error with file, line and column for malformed text, duplicate keys and
// dates.
Json read_toml_file(const std::string& path);
Json parse_toml(std::string_view text, const std::string& source);

// The same as flat options: "quantize.to" → {"mxint8"}; an array of plain values gives one text per element, a table or
// an array of tables contributes its own keys. Numbers and booleans are spelled as on a command line.
using OptionTexts = std::vector<std::pair<std::string, std::vector<std::string>>>;
OptionTexts read_toml_options(const std::string& path);
OptionTexts flatten_options(const Json& tree, const std::string& source);

}  // namespace hone
