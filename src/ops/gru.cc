// gru: gated recurrent units, as ONNX GRU. Cho et al., "Learning phrase representations using RNN encoder-decoder"
// (2014).
#include "ops/recurrent.h"

namespace hone {
namespace {

constexpr auto kAttributes = recurrent_attributes(kLinearBeforeReset);

void step(bool linear_before_reset, const CellWeights& cell, CellActivations& activations, const double* x,
          CellState& state) {
  const auto hidden = static_cast<size_t>(cell.hidden);
  std::vector<double> gates;  // z, r
  for (int64_t i = 0; i < 2 * cell.hidden; ++i)
    gates.push_back(cell.from_input(i, x) + cell.from_state(i, state.h.data()));
  activations.apply(0, gates);
  const double *z = gates.data(), *r = z + hidden;
  std::vector<double> reset = state.h, candidate;
  for (size_t i = 0; i < hidden; ++i) reset[i] *= r[i];
  for (size_t i = 0; i < hidden; ++i) {
    const auto row = 2 * cell.hidden + static_cast<int64_t>(i);
    candidate.push_back(cell.from_input(row, x) + (linear_before_reset ? r[i] * cell.from_state(row, state.h.data())
                                                                       : cell.from_state(row, reset.data())));
  }
  activations.apply(1, candidate);
  for (size_t i = 0; i < hidden; ++i) state.h[i] = (1 - z[i]) * candidate[i] + z[i] * state.h[i];
}

}  // namespace

CellStep make_gru_step(const Attributes& attributes) {
  return std::bind_front(step, attributes.get_or<int64_t>("linear_before_reset", 0) != 0);
}

extern constinit const OpDef gru_def{
    .name = "gru",
    .doc =
        "z, r = f(W·x + R·h + b), n = g(Wn·x + Rn·(r ∘ h) + b), h' = (1 - z) ∘ n + z ∘ h with f = sigmoid, g = tanh, "
        "over x[S,B,I]: every h [S,D,B,H] and the last of each sequence [D,B,H]. Operands x, w[D,3H,I] (z, r, n), "
        "r[D,3H,H], b[D,6H]? (of w, then of r), lengths[B]?, initial_h[D,B,H]?.",
    .operands = {"x", "w", "r", optional("b"), optional("lengths"), optional("initial_h")},
    .attributes = kAttributes,
    .results = 2,
    .infer = [](const InferArgs& a) { return infer_recurrent(a, kGruCell); },
    .eval = [](const EvalArgs& a) { return eval_recurrent(a, kGruCell, make_gru_step(a.attributes)); },
    .flops = recurrent_flops};

}  // namespace hone
