#include "study/pruners/make_pruner.h"

#include <fmt/ranges.h>

#include "base/registry.h"
#include "base/text.h"
#include "study/pruners/registry.h"

namespace hone {

std::unique_ptr<Pruner> make_pruner(const std::string& name,
                                    const std::vector<std::pair<std::string, std::string>>& options) {
  if (name == "none") {
    if (!options.empty()) fail("pruner none has no options, found {}", options[0].first);
    return nullptr;
  }
  const PrunerDef* def = find_def(pruners::all(), name);
  if (!def) {
    const std::vector<std::string> names = names_of(pruners::all());
    fail("unknown pruner {}; known: none, {}{}", name, fmt::join(names, ", "), did_you_mean(name, names));
  }
  std::any values = def->options->defaults();
  for (const auto& [option, value] : options) {
    try {
      def->options->set(values, option, {value});
    } catch (const Error& e) {
      fail("pruner {}: {}", name, e.what());
    }
  }
  return def->make(values);
}

}  // namespace hone
