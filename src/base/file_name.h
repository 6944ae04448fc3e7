// Names of files that come from foreign files or stand for names in them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone {

// A name that leads to a file of that very folder, and that a terminal can show: not empty, at most 255 bytes of UTF-8,
// without '/', '\' and control characters, and not hidden (no '.' in front, so neither "." nor "..").
bool is_plain_file_name(std::string_view name);

// A plain name with this ending for each of `names`, all different: as they are where they are plain, otherwise with _
// for what is not accepted and a number where two would be one.
std::vector<std::string> plain_file_names(const std::vector<std::string>& names, std::string_view ending);

}  // namespace hone
