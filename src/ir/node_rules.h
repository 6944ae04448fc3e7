// Attributes of a node against the definition of its op. The alternatives of `Attribute` and the enum AttributeKind are
// in the same order. All throw Error.
#pragma once

#include <string>
#include <string_view>

#include "ir/op_def.h"

namespace hone {

// What a tensor may be asked to be. Within these, products of a tensor's sizes, strides, and bytes of its elements as
// doubles, fit into an int64_t, so that ops may compute them. More than these no machine holds.
constexpr size_t kMostDimensions = 64;
constexpr int64_t kMostElements = int64_t{1} << 56;

// Throws Error for a negative dimension, too many, or too many elements (dimensions of 0 counted as 1).
void expect_addressable(const TensorType& type);

std::string_view to_string(AttributeKind kind);
const AttributeSpec& attribute_spec(const OpDef& op,
                                    const std::string& name);  // names the known ones when there is none
Attributes normalised(const OpDef& op,
                      Attributes attributes);  // integers given for numbers, dimensions and shapes become those
void check_attributes(const OpDef& op, const Attributes& attributes);

}  // namespace hone
