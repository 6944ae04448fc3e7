// An expression as a flat list of instructions: what the interpreter runs, the code generators read, and cache keys
// print.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "expr/expr.h"

namespace hone {

struct Instruction {
  ExprOp op;
  Scalar type;                     // of the result
  int32_t a = -1, b = -1, c = -1;  // earlier instructions
  int64_t payload = 0;             // constant: bits; arg: position; lookup: index into Program::tables
  bool operator==(const Instruction&) const = default;
};

// Instructions in evaluation order, common subexpressions merged; `results` index into them. Plain data.
struct Program {
  std::vector<Instruction> code;
  std::vector<std::vector<uint64_t>> tables;  // entries have the type of the lookup's result
  std::vector<Scalar> args;                   // type of each input position (f32 where unused)
  std::vector<int32_t> results;

  Scalar result_type(int i) const { return code[static_cast<size_t>(results[static_cast<size_t>(i)])].type; }
  std::string to_text() const;  // one instruction a line; equal programs have equal text
  bool operator==(const Program&) const = default;
};

Program flatten(std::span<const Expr> results);
Program flatten(const Expr& result);

// Elements of a column lie next to each other, boolean as one byte 0 or 1; stride 0 repeats the first element.
struct ConstColumn {
  const void* data;
  int64_t stride = 1;  // in elements
};
struct MutableColumn {
  void* data;
};

// Evaluates the program for n elements: args[i] is read for position i, results[j] written; `first_index` is `index` of
// the first element.
void interpret(const Program& program, std::span<const ConstColumn> args, int64_t first_index, int64_t n,
               std::span<const MutableColumn> results);

// For single values (tests, tables, constant folding): each value in the type's own bit pattern.
std::vector<uint64_t> evaluate(const Program& program, std::span<const uint64_t> args, int64_t index = 0);
float evaluate_f32(const Expr& e, std::span<const float> args);

}  // namespace hone
