#include "jobs/passes.h"

#include "passes/registry.h"

namespace hone {

std::vector<ListedPass> list_passes() {
  std::vector<ListedPass> all;
  for (const PassDef* pass : passes::all()) {
    ListedPass& listed = all.emplace_back(ListedPass{pass->name, pass->doc, {}, {}});
    for (const OptionTable* table : pass->run.options()) {
      listed.takes_options_of.emplace_back(table->pass);
      if (std::string_view(table->pass) != pass->name) continue;
      for (const OptionInfo& option : table->fields()) listed.options.push_back(option);
    }
  }
  return all;
}

}  // namespace hone
