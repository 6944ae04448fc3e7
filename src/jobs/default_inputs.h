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
  std::optional<int64_t> sequence;  // none: 128, or the positions that the model has when those are fewer
  Bindings dims;
};

// A value for every symbol of the inputs; throws Error for a name in `dims` that is no symbol of the model, and for a
// sequence longer than the model has positions.
Bindings bind_symbols(const Graph& graph, const ShapeOptions& options);

// Rows of the table, or classes, that the numbers of an integer input select from, by the ops that read it; none where
// nothing says so.
std::optional<int64_t> indexed_rows(const Graph& graph, ValueId input);

// Floats are normal (0, 1). Integers that index a table or select a class are uniform over its rows; masks are ones;
// others zero.
NamedTensors default_inputs(const Graph& graph, const Bindings& bindings, uint64_t seed);

}  // namespace hone
