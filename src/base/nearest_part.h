// Which names a pattern may have meant that matches none of them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

// Fewest edits (Levenshtein) that turn `part` into some part of `name`: Sellers' algorithm.
int part_distance(std::string_view part, std::string_view name);

// The characters that a regular expression asks for, without what stands for others: "layer\.[0-9]+\.out$" is
// "layer..out".
std::string literal_part(std::string_view pattern);

// ". Did you mean a, b or c?", of names with a part near the pattern's literal one, nearest first; "" when none is.
std::string did_you_mean_part(std::string_view pattern, std::span<const std::string> names);

}  // namespace hone
