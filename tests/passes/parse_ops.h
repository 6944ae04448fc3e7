// Graph texts over the real ops.
#pragma once

#include <string_view>

#include "base/registry.h"
#include "ir/text.h"
#include "ops/registry.h"

namespace hone::test {

inline ParseContext op_context() {
  ParseContext context;
  context.find_op = [](std::string_view name) { return ops::find(name); };
  context.op_names = [] { return names_of<OpDef>(ops::all()); };
  return context;
}

inline Graph parse(std::string_view text) { return parse_graph(text, op_context()); }

// The message of the Error that `fn` throws, "" when it throws none.
template <class Fn>
std::string error_of(Fn fn) {
  try {
    fn();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace hone::test
