// Which positions of an axis a slice takes: negative bounds count from the end, and what lies outside the axis is
// clamped, as ONNX's Slice-13 says it: the start of a backward walk to [0, length - 1], so that one before the axis
// takes its first element, where NumPy takes none. An end of 2^31 - 1 or 2^63 - 1 is none, in a backward walk as well,
// as ONNX Runtime reads it; one beside these lies behind the axis, where a backward walk is empty.
#pragma once

#include <optional>

#include "ops/moves.h"

namespace hone {

struct SliceRun {
  Dim start, end;  // between 0 and the length forward, length - 1 and -1 backward; end is never before start
  int64_t step;    // not 0
  Dim count;       // of the positions start, start + step, …
};

// Bounds from 2^31 - 1 on mean the end, whatever the length, as exporters write them. None where symbols or data decide
// whether a bound lies inside; but of a forward walk it is taken for granted that
//   - a constant first position lies in an axis of symbolic length,
//   - symbolic bounds lie in an axis of constant length (a table longer than any input needs),
// so that a whole graph does not depend on data for a case that never happens; it is checked when it runs.
std::optional<SliceRun> slice_run(const Dim& start, const Dim& end, int64_t step, const Dim& length);

// Of x sliced along the axes that operand 3 or an attribute names, else the first ones; no steps: 1 along each.
std::optional<std::vector<Move>> slice_moves(const MoveArgs& a, std::vector<int64_t> steps);

}  // namespace hone
