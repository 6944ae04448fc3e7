// Graph texts over the real ops.
#pragma once

#include <string_view>

#include "base/registry.h"
#include "ir/text.h"
#include "ops/registry.h"
#include "tests/support/error_of.h"

namespace hone::test {

inline ParseContext op_context() {
  ParseContext context;
  context.find_op = [](std::string_view name) { return ops::find(name); };
  context.op_names = [] { return names_of<OpDef>(ops::all()); };
  return context;
}

inline Graph parse(std::string_view text) { return parse_graph(text, op_context()); }

}  // namespace hone::test
