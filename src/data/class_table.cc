#include "data/class_table.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "data/dataset.h"

namespace hone {
namespace {

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

ClassTable::ClassTable(std::span<const std::string> known) : is_closed_(!known.empty()) {
  for (const std::string& name : known) {
    if (!ids_.emplace(name, std::ssize(names_)).second) fail("classes: \"{}\" is given twice", name);
    names_.push_back(name);
  }
}

int64_t ClassTable::id(std::string_view name) {
  if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
  if (is_closed_) return kIgnoredLabel;
  names_.emplace_back(name);
  return ids_.emplace(name, std::ssize(names_) - 1).first->second;
}

std::vector<size_t> ClassTable::order() const {
  std::vector<size_t> order(names_.size());
  std::iota(order.begin(), order.end(), 0);
  if (is_closed_) return order;
  std::vector<std::optional<int64_t>> numbers;
  for (const std::string& name : names_) numbers.push_back(whole_number(name));
  const bool are_numbers = std::ranges::all_of(numbers, [](const auto& number) { return number.has_value(); });
  std::ranges::sort(order, [&](size_t a, size_t b) {
    if (are_numbers && numbers[a] != numbers[b]) return *numbers[a] < *numbers[b];
    return names_[a] < names_[b];
  });
  return order;
}

std::vector<std::string> ClassTable::names() const {
  std::vector<std::string> names;
  for (size_t id : order()) names.push_back(names_[id]);
  return names;
}

std::vector<int64_t> ClassTable::renumber() const {
  const std::vector<size_t> at = order();
  std::vector<int64_t> place(at.size());
  for (size_t i = 0; i < at.size(); ++i) place[at[i]] = static_cast<int64_t>(i);
  return place;
}

}  // namespace hone
