// Look-up in the generated tables of definitions (cmake/layer.cmake). A definition has a `name`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

template <class Def>
const Def* find_def(std::span<const Def* const> table, std::string_view name) {
  for (const Def* def : table)
    if (name == def->name) return def;
  return nullptr;
}

template <class Def>
std::vector<std::string> names_of(std::span<const Def* const> table) {
  std::vector<std::string> names;
  for (const Def* def : table) names.emplace_back(def->name);
  return names;
}

}  // namespace hone
