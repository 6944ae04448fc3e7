#include "ir/decided_sizes.h"

#include "ir/unbacked.h"

namespace hone {

void DecidedSizes::note(const Shape& before, const Shape& after) {
  for (size_t i = 0; i < before.size() && before.size() == after.size(); ++i)
    if (before[i].is_symbol() && depends_on_data(before[i]) && before[i] != after[i] && !after[i].is_unknown())
      dims_.insert_or_assign(before[i].to_string(), after[i]);
}

Attributes DecidedSizes::substituted(const Attributes& attributes) const {
  Attributes result = attributes;
  for (const auto& [name, value] : attributes.items()) {
    if (const auto* dim = std::get_if<Dim>(&value)) result.set(name, dim->substitute(dims_));
    if (const auto* shape = std::get_if<Shape>(&value)) {
      Shape known;
      for (const Dim& each : *shape) known.push_back(each.substitute(dims_));
      result.set(name, std::move(known));
    }
  }
  return result;
}

}  // namespace hone
