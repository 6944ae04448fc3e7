#include "io/weight_layouts/weight_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "io/weight_layouts/registry.h"

namespace hone {

const WeightLayoutDef* weight_layout_of(const std::string& weight, const HasTensor& has) {
  const WeightLayoutDef* found = nullptr;
  for (const WeightLayoutDef* layout : weight_layouts::all()) {
    if (!layout->recognises(weight, has)) continue;
    if (found)
      fail("weight \"{}\" may be stored as {} or as {}; its tensors have names of both", weight, found->name,
           layout->name);
    found = layout;
  }
  return found;
}

const WeightLayoutDef& writable_layout(std::string_view name) {
  std::vector<std::string> known;
  for (const WeightLayoutDef* layout : weight_layouts::all()) {
    if (!layout->write) continue;
    if (name == layout->name) return *layout;
    known.emplace_back(layout->name);
  }
  fail("layout \"{}\" is not known; known: {}{}", name, fmt::join(known, ", "), did_you_mean(name, known));
}

void check_scheme(const Json& scheme, const std::string& source) {
  if (scheme.is_null()) return;
  const std::string where = source + ": quantization_config";
  const auto method = json_get<std::string>(scheme, "quant_method", where);
  std::vector<std::string> methods;
  bool is_known = false;
  for (const WeightLayoutDef* layout : weight_layouts::all()) {
    if (!std::ranges::count(methods, layout->method)) methods.emplace_back(layout->method);
    if (method != layout->method) continue;
    layout->check(scheme, where);
    is_known = true;
  }
  if (!is_known)
    fail("{}: quant_method \"{}\" is not supported; supported: {}", where, method, fmt::join(methods, ", "));
}

Tensor StoredWeights::get(const std::string& name, const std::string& why) const {
  std::optional<Tensor> found = find(name);
  if (!found) fail("tensor \"{}\" is missing: {}", name, why);
  return *std::move(found);
}

}  // namespace hone
