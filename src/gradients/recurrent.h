// One step of rnn, gru or lstm as products and pointwise ops.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "ops/recurrent.h"

namespace hone {

struct RecurrentStep {
  Graph& g;
  ValueId pre;            // [B,gates·H]: W·x and the biases that are added to it
  ValueId r, state_bias;  // of h; kNone: no bias beside that in `pre`
  ValueId peepholes;      // [3·H], kNone for none
  std::span<const CellActivation> activations;
  std::optional<double> clip;
  const Attributes& attributes;  // of the node
  Dim hidden;

  ValueId part(ValueId v, int64_t axis, int64_t first, int64_t count = 1) const;  // from `first` · H on
  ValueId add(ValueId v, ValueId w) const;
  ValueId mul(ValueId v, ValueId w) const;
};

// h [B,H], and c of lstm, after the step from those before it.
std::vector<ValueId> next_states(const CellKind& kind, const RecurrentStep& step, const std::vector<ValueId>& state);

}  // namespace hone
