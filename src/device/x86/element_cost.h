// What an element of a program costs, roughly: to size pieces of work, never to choose results.
#pragma once

#include "device/x86/target.h"
#include "expr/program.h"

namespace hone {

// Nanoseconds for one element on one thread, with `streams` arrays read or written beside it.
double element_ns(const Program& program, int streams, const X86Target& target);

}  // namespace hone
