#include "base/nearest_part.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "base/printable.h"

namespace hone {

int part_distance(std::string_view part, std::string_view name) {
  std::vector<int> row(name.size() + 1, 0);  // a part may begin anywhere
  for (size_t i = 1; i <= part.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= name.size(); ++j) {
      const int substituted = diagonal + (part[i - 1] != name[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return *std::min_element(row.begin(), row.end());  // and end anywhere
}

std::string literal_part(std::string_view pattern) {
  std::string literal;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      ++i;
      if (!std::isalnum(static_cast<unsigned char>(pattern[i]))) literal += pattern[i];
    } else if (c == '[' || c == '{') {
      const size_t end = pattern.find(c == '[' ? ']' : '}', i + 1);
      i = end == std::string_view::npos ? pattern.size() : end;
    } else if (c == '.' && i + 1 < pattern.size() &&
               std::string_view("?*+{").find(pattern[i + 1]) != std::string_view::npos) {
      continue;  // anything, as often as it likes
    } else if (std::string_view("^$()?*+|").find(c) == std::string_view::npos) {
      literal += c;
    }
  }
  return literal == "." ? "" : literal;
}

std::string did_you_mean_part(std::string_view pattern, std::span<const std::string> names) {
  constexpr size_t kLongest = 100, kLongestName = 300, kMostNames = 5000, kShown = 3;
  const std::string part = literal_part(pattern);
  if (part.empty() || part.size() > kLongest) return "";
  std::vector<std::pair<int, std::string>> near;
  for (const std::string& name : names.first(std::min(names.size(), kMostNames))) {
    const int distance = part_distance(part, std::string_view(name).substr(0, kLongestName));
    if (3 * distance <= static_cast<int>(part.size())) near.emplace_back(distance, shortened(name, kLongestName));
  }
  if (near.empty()) return "";
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  near.resize(std::min(near.size(), kShown));
  std::string text;
  for (size_t i = 0; i < near.size(); ++i)
    text += (i == 0 ? ". Did you mean " : i + 1 == near.size() ? " or " : ", ") + near[i].second;
  return text + "?";
}

}  // namespace hone
