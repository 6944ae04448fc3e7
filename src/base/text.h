// Small text helpers for messages and parsers.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

// Edit distance (Levenshtein) between two names.
int edit_distance(std::string_view a, std::string_view b);

// Up to `count` of `candidates` nearest to `name`, nearest first; none that differs in more than half of its
// characters.
std::vector<std::string> nearest_names(std::string_view name, std::span<const std::string> candidates, int count = 3);

std::string one_of(std::span<const std::string> names);  // "a, b or c"

// ". Did you mean a, b or c?" or "" when nothing is near: appended to an error.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);

// "90.9 MB", "1.50 GB", "812 B": decimal units with three significant digits.
std::string human_bytes(double bytes);

// "12MB", "1.5 GiB", "4096": bytes, with a unit B, kB, MB, GB, KiB, MiB, GiB or none. None for anything else and for
// what is not above 0.
std::optional<double> parse_bytes(std::string_view text);

}  // namespace hone
