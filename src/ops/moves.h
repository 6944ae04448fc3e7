// Moves: results whose elements are elements of an operand, found axis by axis.
//
// Along each axis of the result the positions that are read fall into stretches, regular patterns of up to two loops.
// Every combination of stretches is a part of the result that is copied, or filled with a value.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/op_def.h"

namespace hone {

// Positions i * count + j of a stretch, i below `repeats`, read element from + i * jump + j * step of the axis.
struct Stretch {
  int64_t from = 0, count = 0, step = 1, repeats = 1, jump = 0;
  bool value = false;  // the border's: operand 1, else 0
  int64_t length() const { return count * repeats; }
};
using Stretches = std::vector<Stretch>;

// What one operand gives to one result: stretches for each axis, from `start` on. Axes that the operand lacks, the
// first ones, have length 1.
struct Move {
  size_t operand = 0, result = 0;
  std::vector<Stretches> axes;
  std::vector<int64_t> start;
};

// A node whose sizes are known. Operands that are arguments are given; of others only the shapes.
struct MoveArgs {
  const EvalArgs& given;
  std::span<const std::vector<int64_t>> shapes;
  bool are_known;  // all arguments are given
  std::vector<int64_t> result_shape(size_t i) const { return constant_shape(given.results[i].shape); }
};

Stretches stretches(std::span<const int64_t> reads);  // of positions, -1 where the border is
std::vector<Stretches> whole_axes(const std::vector<int64_t>& shape);
std::vector<Move> one_move(std::vector<Stretches> axes);  // of operand 0 to the only result
std::vector<Move> repeating_move(const MoveArgs& a);      // operand 0 over and over along each axis of the result

}  // namespace hone
