// What a program reads.
#pragma once

#include "expr/program.h"

namespace hone {

bool reads_argument(const Program& program, int position);
bool uses_index(const Program& program);  // of the element

}  // namespace hone
