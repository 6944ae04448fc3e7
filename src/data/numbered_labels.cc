#include "data/numbered_labels.h"

#include <algorithm>

#include "base/error.h"

namespace hone {

ClassLabels numbered_labels(std::span<const int64_t> numbers, std::span<const std::string> classes,
                            const std::string& source) {
  constexpr int64_t kMostClasses = 65536;  // a larger number is hardly one of a class
  ClassLabels labels{.ids = {numbers.begin(), numbers.end()}, .names = {classes.begin(), classes.end()}};
  std::vector<int64_t> known(numbers.begin(), numbers.end());
  std::erase(known, kIgnoredLabel);
  if (classes.empty() && !known.empty()) {
    const auto [least, most] = std::ranges::minmax(known);
    if (least < 0 || most >= kMostClasses)
      fail("{}: class numbers from {} to {}; 0 to {} are accepted, and {} where none is known", source, least, most,
           kMostClasses - 1, kIgnoredLabel);
    for (int64_t i = 0; i <= most; ++i) labels.names.push_back(std::to_string(i));
  }
  for (size_t row = 0; row < labels.ids.size(); ++row) {
    int64_t& id = labels.ids[row];
    if (id >= 0 && id < std::ssize(labels.names)) continue;
    labels.unknown.emplace_back(row, std::to_string(id));
    id = kIgnoredLabel;
  }
  return labels;
}

}  // namespace hone
