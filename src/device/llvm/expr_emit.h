// Expression programs as vector IR, lane by lane what expr/expr.h says.
#pragma once

#include <llvm/IR/Value.h>

#include <span>

#include "device/llvm/emitter.h"
#include "expr/program.h"

namespace hone {

// Emits the program for the lanes of `args` (vectors of `e.lanes` elements of Program::args[i]; null where position i
// is not read) and returns one vector per result. `index` is the flattened position of lane 0 (an i64), or null when
// the program does not use it. Idle lanes may hold anything: nothing in a program can fault.
// `known`: values of instructions that emit_invariants() has made already (empty: none).
Values emit_program(Emitter& e, const Program& program, std::span<llvm::Value* const> args, llvm::Value* index,
                    const Values& known = {});

// Emits what depends on the given arguments only (null: not known yet): what stays the same in a loop is computed in
// front of it. One value per instruction, null where it is left to emit_program().
Values emit_invariants(Emitter& e, const Program& program, std::span<llvm::Value* const> args);

}  // namespace hone
