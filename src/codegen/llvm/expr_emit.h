// Expression programs as vector IR, lane by lane what expr/expr.h says.
#pragma once

#include <llvm/IR/Value.h>

#include <span>

#include "codegen/llvm/emit.h"
#include "expr/program.h"

namespace hone {

// Emits the program for the lanes of `args` (vectors of `e.lanes` elements of Program::args[i]; null where position i
// is not read) and returns one vector per result. `index` is the flattened position of lane 0 (an i64), or null when
// the program does not use it. Idle lanes may hold anything: nothing in a program can fault.
Values emit_program(Emitter& e, const Program& program, std::span<llvm::Value* const> args, llvm::Value* index);

// Whether the program reads the element's index.
bool uses_index(const Program& program);

}  // namespace hone
