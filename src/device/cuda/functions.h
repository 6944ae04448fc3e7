// Functions of the C library, which code for GPUs cannot call.
#pragma once

#include "expr/program.h"
#include "ir/op_def.h"

namespace hone {

// What a program computes that there is no code for: exp, log, … of f64.
Support supports_functions(const Program& program);

}  // namespace hone
