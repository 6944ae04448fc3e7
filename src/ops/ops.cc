// Look-up in the generated table of ops.
#include <unordered_map>

#include "base/registry.h"
#include "ops/registry.h"

namespace hone::ops {

const OpDef* find(std::string_view name) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, const OpDef*> map;
    for (const OpDef* op : all()) map.emplace(op->name, op);
    return map;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

const OpDef& get(std::string_view name) {
  const OpDef* op = find(name);
  CHECK(op, "no op is called {}", name);
  return *op;
}

}  // namespace hone::ops
