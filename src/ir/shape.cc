// Shapes: what dim.h declares beside Dim itself.
#include <algorithm>

#include "base/error.h"
#include "ir/dim.h"
#include "ir/node_rules.h"

namespace hone {

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (const Dim& dim : shape) {
    if (text.size() > 1) text += ',';
    text += dim.to_string();
  }
  return text + "]";
}

std::vector<int64_t> evaluate(const Shape& shape, const Bindings& bindings) {
  std::vector<int64_t> sizes;
  for (const Dim& dim : shape) sizes.push_back(dim.evaluate(bindings));
  return sizes;
}

std::vector<int64_t> constant_shape(const Shape& shape) {
  std::vector<int64_t> sizes;
  for (const Dim& dim : shape) sizes.push_back(dim.constant());
  return sizes;
}

bool is_constant(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& dim) { return dim.is_constant(); });
}

Shape to_shape(std::span<const int64_t> sizes) { return Shape(sizes.begin(), sizes.end()); }

Dim element_count(const Shape& shape) {
  Dim count = 1;
  for (const Dim& dim : shape) count = count * dim;
  return count;
}

int64_t element_count(std::span<const int64_t> sizes) {
  int64_t count = 1;
  bool empty = false;
  for (int64_t size : sizes) {
    if (size < 0) fail("shape {} has a negative dimension", to_string(to_shape(sizes)));
    if (size > 0 && count > kMostElements / size)
      fail("shape {} has more than 2^56 elements, more than any memory holds", to_string(to_shape(sizes)));
    empty = empty || size == 0;
    count *= std::max<int64_t>(size, 1);
  }
  return empty ? 0 : count;
}

bool may_be_same(const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  return !difference.is_constant() || difference.constant() == 0;
}

Shape broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    Dim& dim = result[offset + i];
    if (dim == shorter[i] || shorter[i] == Dim(1)) continue;
    if (dim == Dim(1)) dim = shorter[i];
    else if (dim.is_constant() && shorter[i].is_constant())
      fail("shapes {} and {} do not broadcast", to_string(a), to_string(b));
    else if (shorter[i].is_constant()) dim = shorter[i];
    else if (!dim.is_constant()) dim = Dim::unknown();
  }
  return result;
}

bool broadcasts_to(const Shape& from, const Shape& to) {
  return from.size() <= to.size() &&
         std::equal(from.rbegin(), from.rend(), to.rbegin(),
                    [](const Dim& own, const Dim& whole) { return own == Dim(1) || own == whole; });
}

void bind_shape(const Shape& declared, const std::vector<int64_t>& actual, Bindings& bindings,
                const std::string& what) {
  if (declared.size() != actual.size())
    fail("{}: shape {} has {} dimensions; expected {}", what, to_string(to_shape(actual)), actual.size(),
         to_string(declared));
  for (size_t i = 0; i < actual.size(); ++i) {
    std::vector<std::string> names;
    declared[i].collect_symbols(names);
    if (names.size() == 1 && declared[i] == Dim::symbol(names[0])) bindings.try_emplace(names[0], actual[i]);
  }
  for (size_t i = 0; i < actual.size(); ++i) {
    const int64_t expected = declared[i].evaluate(bindings);
    if (expected == actual[i]) continue;
    const std::string why = declared[i].is_constant() ? "" : " = " + declared[i].to_string();
    fail("{}: dimension {} of shape {} is {}; expected {}{} (declared {})", what, i, to_string(to_shape(actual)),
         actual[i], expected, why, to_string(declared));
  }
}

}  // namespace hone
