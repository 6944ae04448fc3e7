// What an element of a program costs, roughly: to size pieces of work, never to choose results.
#pragma once

#include "expr/program.h"
#include "kernels/target.h"

namespace hone {

// Nanoseconds for one element on one thread, with `streams` arrays read or written beside it.
double element_ns(const Program& program, int streams, const Target& target);

bool reads_argument(const Program& program, int position);
bool uses_index(const Program& program);  // of the element

}  // namespace hone
