// Escaping for HTML and SVG. Everything that comes from a file or a user passes through here.
#pragma once

#include <string>
#include <string_view>

namespace hone {

// & < > " ' become entities; control characters, those that turn the direction of writing, and bytes that are not UTF-8
// become U+FFFD: the result is valid in text and in quoted attributes.
std::string escape_markup(std::string_view text);

}  // namespace hone
