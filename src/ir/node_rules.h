// Attributes of a node against the definition of its op. The alternatives of `Attribute` and the enum AttributeKind are
// in the same order. All throw Error.
#pragma once

#include <string>
#include <string_view>

#include "ir/op_def.h"

namespace hone {

std::string_view to_string(AttributeKind kind);
const AttributeSpec& attribute_spec(const OpDef& op,
                                    const std::string& name);  // names the known ones when there is none
Attributes normalised(const OpDef& op,
                      Attributes attributes);  // integers given for numbers, dimensions and shapes become those
void check_attributes(const OpDef& op, const Attributes& attributes);

}  // namespace hone
