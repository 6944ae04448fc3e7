// Attributes of a node: named constants of a few kinds.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/tensor.h"

namespace hone {

using Attribute = std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                               std::vector<std::string>, Dim, Shape, DType, Format, Tensor>;

class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<const std::string, Attribute>> items) : items_(items) {}

  bool has(std::string_view name) const { return items_.find(name) != items_.end(); }
  void set(const std::string& name, Attribute value) { items_[name] = std::move(value); }
  void erase(const std::string& name) { items_.erase(name); }
  const auto& items() const { return items_; }
  bool empty() const { return items_.empty(); }

  template <class T>
  const T& get(std::string_view name) const;  // Bug when absent or of another kind (the verifier has checked)
  template <class T>
  T get_or(std::string_view name, T fallback) const;
  bool same(const Attributes& other) const;  // tensors compared by their bytes

 private:
  std::map<std::string, Attribute, std::less<>> items_;
};

template <class T>
const T& Attributes::get(std::string_view name) const {
  const auto found = items_.find(name);
  CHECK(found != items_.end(), "attribute {} is absent", name);
  const T* value = std::get_if<T>(&found->second);
  CHECK(value, "attribute {} is of another kind", name);
  return *value;
}

template <class T>
T Attributes::get_or(std::string_view name, T fallback) const {
  return has(name) ? get<T>(name) : fallback;
}

}  // namespace hone
