// Inputs made up for a model when the user gives none: seeded, of the model's own shapes, and within the ranges its ops
// accept.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/session.h"

namespace hone {

// Symbols by name. `batch` stands for the first symbol of the first dimension of the inputs (usually B), `sequence` for
// the symbol of their second dimension (usually S); `dims` names any symbol and wins.
struct ShapeOptions {
  int64_t batch = 1;
  std::optional<int64_t> sequence;  // none: the usual, or the positions that the model has when those are fewer
  Bindings dims;
  int64_t usual_sequence = 128;  // tokens: most sentences, and what encoders are commonly timed with
};

// A value for every symbol of the inputs: what the options say; else what the weights that it meets say; else what is
// usual, or more where windows leave nothing of that. Symbols of state have the sizes that it begins with; 1 where the
// graph does not say, and nothing else does. Throws Error for a name in `dims` that is no symbol of the model,
// and for a sequence longer than the model has positions.
Bindings bind_symbols(const Graph& graph, const ShapeOptions& options);

// Rows of the table, or classes, that the numbers of an integer input select from, by the ops that read it; none where
// nothing says so.
std::optional<int64_t> indexed_rows(const Graph& graph, ValueId input);

// Floats are normal (0, 1). Integers that index a table or select a class are uniform over its rows; masks are ones;
// others zero. State that the graph gives no value to begin with is among them, and zero.
NamedTensors default_inputs(const Graph& graph, const Bindings& bindings, uint64_t seed);

}  // namespace hone
