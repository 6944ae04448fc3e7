#include "views/passes.h"

#include <fmt/ranges.h>

namespace hone {
namespace {

Cell default_of(const OptionInfo& option) {
  if (option.required) return "required";
  return option.default_text.empty() ? Cell() : Cell(option.default_text);
}

}  // namespace

Record view_of(std::span<const ListedPass> passes) {
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
  for (const ListedPass& pass : passes) {
    list.rows.push_back(
        {pass.name, pass.doc,
         pass.takes_options_of.empty() ? Cell() : Cell(fmt::format("{}", fmt::join(pass.takes_options_of, ", ")))});
    for (const OptionInfo& option : pass.options)
      options.rows.push_back(
          {fmt::format("{}.{}", pass.name, option.name), to_string(option.kind), default_of(option), option.doc});
  }
  return {.title = "Passes", .sections = {{"Passes", {list, options}}}};
}

}  // namespace hone
