// Pages about verbs, written from their tables of options: docs/cli.md, and man pages.
#pragma once

#include <span>
#include <string>

#include "cli/registry.h"

namespace hone {

// All verbs by task, each with its summary, options and examples, as Markdown of at most 100 columns.
std::string cli_markdown(const char* program, std::span<const VerbDef* const> verbs);

// man(7) source: of one verb, "hone-quantize(1)", or where there is none of the program, which lists its verbs.
std::string man_page(const char* program, std::span<const VerbDef* const> verbs, const VerbDef* verb);

}  // namespace hone
