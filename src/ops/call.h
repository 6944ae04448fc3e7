// What the generated ops/calls/<file>.h are made of, one for each file of ops.
//
// They have for each op a struct of its operands and attributes by name, which becomes a Call, and a function
// that emits it and returns its result, or the vector of its results:
//   const ValueId y = ops::linear(graph, {.x = x, .w = w, .b = b});
//   replace_node(graph, node, ops::Reshape{.x = y, .shape = shape});
// Operands that may be absent are kNone, attributes nullopt, unless they are given.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace hone::ops {

// Of an operand or attribute that must be given: leaving it out does not compile.
template <class T>
class Required {
 public:
  template <class U>
  requires std::convertible_to<U, T> Required(U&& value)
      : value_(std::forward<U>(value)) {}  // NOLINT(google-explicit-constructor)
  const T& operator*() const { return value_; }

 private:
  T value_;
};

// Builds the call. Absent operands at the end are left out, and absent attributes.
class CallBuilder {
 public:
  explicit CallBuilder(const OpDef& op) { call_.op = &op; }
  CallBuilder&& operand(ValueId value) &&;
  CallBuilder&& operands(std::span<const ValueId> values) &&;
  CallBuilder&& attribute(const char* name, Attribute value) &&;
  template <class T>
  CallBuilder&& attribute(const char* name, const std::optional<T>& value) && {
    return value ? std::move(*this).attribute(name, Attribute(*value)) : std::move(*this);
  }
  CallBuilder&& bodies(std::vector<Graph> graphs) &&;
  Call call() &&;

 private:
  Call call_;
};

}  // namespace hone::ops
