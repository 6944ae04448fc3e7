// Rotary positions: pairs of columns of queries and keys turned by angles that grow with the place. Su et al.,
// "RoFormer: Enhanced Transformer with Rotary Position Embedding" (2021); a head's first half is paired with its
// second, as Hugging Face's code has it.
#pragma once

#include <vector>

#include "models/transformer.h"

namespace hone {

struct Rotation {
  ValueId cosine = kNone, sine = kNone;  // f32[B or 1,S,1,columns / 2]
  int64_t columns = 0;                   // of a head that are turned: its first ones
};

// theta^(-2i / columns); `columns` is even.
std::vector<double> rotary_frequencies(int64_t columns, double theta);

// By angles place · frequency in f32, as models were trained with; cosines and sines times `factor`. positions i64[S] or
// i64[B,S].
Rotation rotation(Graph& graph, ValueId positions, const std::vector<double>& frequencies, double factor = 1);

// x f32[B,S,heads·columns] → the same. Columns of a head beyond those of the rotation stay.
ValueId rotated(Graph& graph, ValueId x, const Rotation& by, int64_t heads, const std::string& result = "");

}  // namespace hone
