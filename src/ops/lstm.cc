// lstm: long short-term memory, as ONNX LSTM. Hochreiter and Schmidhuber, "Long short-term memory" (1997); peepholes
// by Gers and Schmidhuber (2000).
#include <algorithm>
#include <cmath>

#include "ops/recurrent.h"

namespace hone {
namespace {

constexpr auto kAttributes = recurrent_attributes(kInputForget, kRoundState);

// To the nearest of 256 steps between the extremes and 0; 0 is one of them.
void round_to_steps(std::vector<double>& h) {
  double low = 0, high = 0;
  for (double value : h) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low == high) return;
  const auto size = static_cast<double>(static_cast<float>((high - low) / 255));
  const double zero = std::clamp(std::nearbyint(-low / size), 0.0, 255.0);
  for (double& value : h) value = (std::clamp(std::nearbyint(value / size) + zero, 0.0, 255.0) - zero) * size;
}

struct Variant {
  bool input_forget, round_state;
};

void step(Variant variant, const CellWeights& cell, CellActivations& activations, const double* x, CellState& state) {
  const auto hidden = static_cast<size_t>(cell.hidden);
  if (variant.round_state) round_to_steps(state.h);
  enum Gate : size_t { kInput, kOutput, kForget, kCell };
  std::vector<double> gates[4];
  for (size_t g = 0; g < 4; ++g)
    for (size_t i = 0; i < hidden; ++i) {
      const auto row = static_cast<int64_t>(g * hidden + i);
      const double peephole = g == kInput || g == kForget ? cell.peepholes[row] * state.c[i] : 0;
      gates[g].push_back(cell.from_input(row, x) + cell.from_state(row, state.h.data()) + peephole);
    }
  activations.apply(0, gates[kInput]);
  activations.apply(0, gates[kForget]);
  activations.apply(1, gates[kCell]);
  for (size_t i = 0; i < hidden; ++i) {
    const double input = gates[kInput][i], forget = variant.input_forget ? 1 - input : gates[kForget][i];
    state.c[i] = forget * state.c[i] + input * gates[kCell][i];
    gates[kOutput][i] += cell.peepholes[kOutput * hidden + i] * state.c[i];  // it alone sees the new cell
  }
  activations.apply(0, gates[kOutput]);
  state.h = state.c;
  activations.apply(2, state.h);
  for (size_t i = 0; i < hidden; ++i) state.h[i] *= gates[kOutput][i];
}

}  // namespace

CellStep make_lstm_step(const Attributes& attributes) {
  const Variant variant{.input_forget = attributes.get_or<int64_t>("input_forget", 0) != 0,
                        .round_state = attributes.get_or<int64_t>("round_state", 0) != 0};
  return std::bind_front(step, variant);
}

extern constinit const OpDef lstm_def{
    .name = "lstm",
    .doc =
        "i, o, f = f(W·x + R·h + p ∘ c + b), c' = f ∘ c + i ∘ g(Wc·x + Rc·h + b), h' = o ∘ h(c') with f = sigmoid, "
        "g = h = tanh, over x[S,B,I]; o reads c': every h [S,D,B,H], the last h and the last c of each sequence "
        "[D,B,H]. Operands x, w[D,4H,I] (i, o, f, c), r[D,4H,H], b[D,8H]? (of w, then of r), lengths[B]?, "
        "initial_h[D,B,H]?, initial_c[D,B,H]?, peepholes[D,3H]? (i, o, f).",
    .operands = {"x", "w", "r", optional("b"), optional("lengths"), optional("initial_h"), optional("initial_c"),
                 optional("p")},
    .attributes = kAttributes,
    .results = 3,
    .infer = [](const InferArgs& a) { return infer_recurrent(a, kLstmCell); },
    .eval = [](const EvalArgs& a) { return eval_recurrent(a, kLstmCell, make_lstm_step(a.attributes)); },
    .flops = recurrent_flops};

}  // namespace hone
