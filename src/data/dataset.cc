#include "data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"

namespace hone {

std::string Dataset::where(int64_t row) const {
  const RowOrigin& origin = origins[static_cast<size_t>(row)];
  const std::string& file = files[static_cast<size_t>(origin.file)];
  return origin.line == 0 ? file : fmt::format("{}:{}", file, origin.line);
}

const Split* Dataset::find_split(std::string_view name) const {
  const auto found = std::ranges::find(splits, name, &Split::name);
  return found == splits.end() ? nullptr : &*found;
}

const std::vector<int64_t>& Dataset::split(std::string_view name) const {
  if (const Split* found = find_split(name)) return found->rows;
  std::vector<std::string> names;
  for (const Split& each : splits) names.push_back(each.name);
  if (names.empty())
    fail("{}: has no split \"{}\": all its rows are one. Name a column of splits, or fractions", path, name);
  fail("{}: has no split \"{}\"; it has {}{}", path, name, fmt::join(names, ", "), did_you_mean(name, names));
}

std::span<const std::string> class_names(const Labels& labels) {
  return std::visit(
      [](const auto& each) -> std::span<const std::string> {
        if constexpr (requires { each.names; }) return each.names;
        else return {};
      },
      labels);
}

std::string_view kind_of(const Labels& labels) {
  return std::array<std::string_view, 5>{"none", "class", "classes", "numbers", "word classes"}[labels.index()];
}

std::string split_name(std::string_view spelling) {
  if (spelling == "dev" || spelling == "val" || spelling == "valid") return "validation";
  if (spelling == "training") return "train";
  return std::string(spelling);
}

}  // namespace hone
