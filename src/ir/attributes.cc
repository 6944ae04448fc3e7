#include "ir/attributes.h"

namespace hone {
namespace {

template <class T>
bool equal(const T& a, const T& b) {
  return a == b;
}
bool equal(const Tensor& a, const Tensor& b) { return a.same_bits(b); }

}  // namespace

bool Attributes::same(const Attributes& other) const {
  if (items_.size() != other.items_.size()) return false;
  for (const auto& [name, value] : items_) {
    const auto found = other.items_.find(name);
    if (found == other.items_.end() || found->second.index() != value.index()) return false;
    const bool same =
        std::visit([&](const auto& a) { return equal(a, std::get<std::decay_t<decltype(a)>>(found->second)); }, value);
    if (!same) return false;
  }
  return true;
}

}  // namespace hone
