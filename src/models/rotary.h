// Rotary positions: pairs of columns of queries and keys turned by angles that grow with the place. Su et al.,
// "RoFormer: Enhanced Transformer with Rotary Position Embedding" (2021); a head's first half is paired with its
// second, as Hugging Face's code has it.
#pragma once

#include "models/transformer.h"

namespace hone {

struct Rotation {
  ValueId cosine = kNone, sine = kNone;  // f32[1,S,1,columns / 2]
};

// By angles place · theta^(-2i / columns) in f32, as models were trained with. positions i64[S]; `columns` of a head is
// even.
Rotation rotation(Graph& graph, ValueId positions, int64_t columns, double theta);

// x f32[B,S,heads·columns] → the same.
ValueId rotated(Graph& graph, ValueId x, const Rotation& by, int64_t heads, const std::string& result = "");

}  // namespace hone
