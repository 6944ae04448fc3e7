// rnn: the recurrent layer without gates, as ONNX RNN.
#include "ops/recurrent.h"

namespace hone {
namespace {

constexpr auto kAttributes = recurrent_attributes();

void step(const CellWeights& cell, CellActivations& activations, const double* x, CellState& state) {
  std::vector<double> next;
  for (int64_t i = 0; i < cell.hidden; ++i) next.push_back(cell.from_input(i, x) + cell.from_state(i, state.h.data()));
  activations.apply(0, next);
  state.h = std::move(next);
}

}  // namespace

CellStep make_rnn_step(const Attributes&) { return step; }

extern constinit const OpDef rnn_def{
    .name = "rnn",
    .doc =
        "h' = f(w·x + r·h + b) with f = tanh, over x[S,B,I]: every h [S,D,B,H] and the last of each sequence "
        "[D,B,H]. Operands x, w[D,H,I], r[D,H,H], b[D,2H]?, lengths[B]?, initial_h[D,B,H]?.",
    .operands = {"x", "w", "r", optional("b"), optional("lengths"), optional("initial_h")},
    .attributes = kAttributes,
    .results = 2,
    .infer = [](const InferArgs& a) { return infer_recurrent(a, kRnnCell); },
    .eval = [](const EvalArgs& a) { return eval_recurrent(a, kRnnCell, make_rnn_step(a.attributes)); },
    .flops = recurrent_flops};

}  // namespace hone
