// The generated table of ops.
#pragma once

#include "ir/op_def.h"

namespace hone::ops {

std::span<const OpDef* const> all();
const OpDef& get(std::string_view name);   // Bug when there is none
const OpDef* find(std::string_view name);  // nullptr when there is none

}  // namespace hone::ops
