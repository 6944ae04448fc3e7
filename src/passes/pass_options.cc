#include "passes/pass_options.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/registry.h"
#include "passes/pipelines.h"
#include "passes/registry.h"

namespace hone {
namespace {

// The options that are the pass's own: of those that it takes, the ones that have its name.
const OptionTable& own_options(const std::string& pass) {
  check_pass_names({pass});
  std::vector<std::string> others;
  for (const OptionTable* table : find_def(passes::all(), pass)->run.options()) {
    if (table->pass == pass) return *table;
    others.emplace_back(table->pass);
  }
  fail("pass {} has no options of its own{}", pass,
       others.empty() ? "" : fmt::format("; it takes those of {}", fmt::join(others, ", ")));
}

}  // namespace

void PassOptions::set(std::string_view name, const std::vector<std::string>& values) {
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos) fail("{}: expected the name of a pass, a dot and that of its option", name);
  const std::string pass(name.substr(0, dot));
  const OptionTable& table = own_options(pass);
  auto at = std::ranges::find(given_, &table, [](const auto& given) { return given.first; });
  if (at == given_.end()) at = given_.insert(at, {&table, table.defaults()});
  try {
    table.set(at->second, name.substr(dot + 1), values);
  } catch (const Error& e) {
    fail("pass {}: {}", pass, e.what());
  }
}

std::vector<const OptionTable*> PassOptions::given() const {
  std::vector<const OptionTable*> tables;
  for (const auto& [table, options] : given_) tables.push_back(table);
  return tables;
}

std::vector<std::string> PassOptions::missing(const OptionTable& table) const {
  const std::any* options = find(table);
  return table.missing(options ? *options : table.defaults());
}

const std::any* PassOptions::find(const OptionTable& table) const {
  const auto at = std::ranges::find(given_, &table, [](const auto& given) { return given.first; });
  return at == given_.end() ? nullptr : &at->second;
}

}  // namespace hone
