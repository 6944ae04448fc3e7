#include "jobs/passes.h"

#include <fmt/ranges.h>

#include "passes/registry.h"

namespace hone {
namespace {

// Whose options it takes: mostly its own.
Cell options_of(const PassDef& pass) {
  std::vector<std::string> names;
  for (const OptionTable* table : pass.run.options()) names.emplace_back(table->pass);
  return names.empty() ? Cell() : Cell(fmt::format("{}", fmt::join(names, ", ")));
}

Cell default_of(const OptionInfo& option) {
  if (option.required) return "required";
  return option.default_text.empty() ? Cell() : Cell(option.default_text);
}

}  // namespace

Record list_passes() {
  Table list{.key = "passes",
             .title = "Passes",
             .columns = {{"pass", "pass"},
                         {.key = "doc", .title = "what it does", .prose = true},
                         {.key = "options", .title = "takes the options of", .prose = true}}};
  Table options{
      .key = "options",
      .title = "Options of passes",
      .columns = {{"option", "option"},
                  {"kind", "kind"},
                  {"default", "default"},
                  {.key = "doc", .title = "what it says", .prose = true}},
      .note =
          "hone print --pass runs a pass by its name, with --pass-option or a table of its name in --config. Those of "
          "the passes that quantize are flags of hone quantize, and keys of its --config."};
  for (const PassDef* pass : passes::all()) {
    list.rows.push_back({std::string(pass->name), std::string(pass->doc), options_of(*pass)});
    for (const OptionTable* table : pass->run.options()) {
      if (std::string_view(table->pass) != pass->name) continue;
      for (const OptionInfo& option : table->fields())
        options.rows.push_back({fmt::format("{}.{}", pass->name, option.name), to_string(option.kind),
                                default_of(option), std::string(option.doc)});
    }
  }
  return {.title = "Passes", .sections = {{"Passes", {list, options}}}};
}

}  // namespace hone
