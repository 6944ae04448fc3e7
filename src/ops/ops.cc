// Look-up in the generated table of ops.
#include "base/registry.h"
#include "ops/registry.h"

namespace hone::ops {

const OpDef* find(std::string_view name) { return find_def(all(), name); }

const OpDef& get(std::string_view name) {
  const OpDef* op = find(name);
  CHECK(op, "no op is called {}", name);
  return *op;
}

}  // namespace hone::ops
