// What rnn, gru, lstm and recurrent_steps share: operands and their shapes, activations, and the walk over directions,
// sequences and steps. A cell only says how one step changes its state.
#pragma once

#include <array>
#include <functional>

#include "expr/interpreter.h"
#include "ops/elements.h"

namespace hone {

struct CellKind {
  int64_t gates;                             // w and r consist of `gates` blocks of H rows
  std::span<const char* const> activations;  // by default, of one direction
  bool has_cell = false;                     // also takes initial_c and peepholes and gives y_c
};
inline constexpr const char* kRnnActivations[] = {"tanh"};
inline constexpr const char* kGruActivations[] = {"sigmoid", "tanh"};
inline constexpr const char* kLstmActivations[] = {"sigmoid", "tanh", "tanh"};
inline constexpr CellKind kRnnCell{.gates = 1, .activations = kRnnActivations};
inline constexpr CellKind kGruCell{.gates = 3, .activations = kGruActivations};
inline constexpr CellKind kLstmCell{.gates = 4, .activations = kLstmActivations, .has_cell = true};

// Which directions a layer walks, in the order of its weights.
struct Directions {
  int64_t count = 1;
  bool first_is_reverse = false;
  bool is_reverse(int64_t direction) const { return first_is_reverse || direction == 1; }
};
Directions directions_of(const Attributes& attributes);

// The activations of all directions, one after the other: pointwise ops of one operand.
struct CellActivation {
  const OpDef* op;
  Attributes attributes;
};
std::vector<CellActivation> activations_of(const Attributes& attributes, const CellKind& kind);

inline constexpr AttributeSpec kLinearBeforeReset{
    "linear_before_reset", AttributeKind::integer, false,
    "1: n = g(Wn·x + r ∘ (Rn·h + bias)), as PyTorch; default 0: n = g(Wn·x + Rn·(r ∘ h) + bias)"};
inline constexpr AttributeSpec kInputForget{"input_forget", AttributeKind::integer, false,
                                            "1: the forget gate is 1 - i; default 0"};
inline constexpr AttributeSpec kRoundState{
    "round_state", AttributeKind::integer, false,
    "1: what R is multiplied with is h in 256 steps from min(h, 0) to max(h, 0), as DynamicQuantizeLinear rounds; "
    "default 0"};

template <class... More>
constexpr std::array<AttributeSpec, 5 + sizeof...(More)> recurrent_attributes(More... more) {
  return {
      AttributeSpec{"direction", AttributeKind::string, false, "forward (default), reverse or bidirectional"},
      {"activations", AttributeKind::strings, false, "pointwise ops f, g, ... of the first direction, then the other"},
      {"activation_alpha", AttributeKind::numbers, false,
       "for the activations that have an alpha, in order; default: the op's own"},
      {"activation_beta", AttributeKind::numbers, false, "the same for beta"},
      {"clip", AttributeKind::number, false, "what activations read is held to -clip .. clip; default: as it is"},
      more...};
}

// Types of y [S,D,B,H], y_h [D,B,H] and, with a cell, y_c [D,B,H] from the operands x [S,B,I], w [D,gates·H,I],
// r [D,gates·H,H], b? [D,2·gates·H], lengths? [B], initial_h? [D,B,H] and, with a cell, initial_c? [D,B,H],
// peepholes? [D,3·H]. Without w, x holds its products already, [S,B,D·gates·H] with the biases of w, and b [D,gates·H]
// is that of r alone.
std::vector<TensorType> infer_recurrent(const InferArgs& a, const CellKind& kind);
Dim recurrent_flops(const InferArgs& a);

// The weights of one direction; biases and peepholes that are absent hold zeros.
struct CellWeights {
  int64_t inputs, hidden;
  bool has_products;  // x are those of w, with their bias
  const double *w, *r, *input_bias, *state_bias, *peepholes;
  double from_input(int64_t row, const double* x) const {
    return has_products ? x[row] : dot(w + row * inputs, x, inputs) + input_bias[row];
  }
  double from_state(int64_t row, const double* h) const { return dot(r + row * hidden, h, hidden) + state_bias[row]; }
};

// The activations of one direction, in the cell's order. Owns registers: one object per thread.
class CellActivations {
 public:
  CellActivations(std::span<const Program> programs, double clip)
      : interpreters_(programs.begin(), programs.end()), clip_(clip) {}
  void apply(size_t which, std::span<double> values);  // in place, on values clipped to [-clip, clip]

 private:
  std::vector<Interpreter> interpreters_;
  double clip_;
};

struct CellState {
  std::vector<double> h, c;
};

// Takes the state over one step with input x[I].
using CellStep = std::function<void(const CellWeights&, CellActivations&, const double* x, CellState&)>;
std::vector<Tensor> eval_recurrent(const EvalArgs& a, const CellKind& kind, const CellStep& step);

// As a node's attributes have it.
CellStep make_rnn_step(const Attributes& attributes);
CellStep make_gru_step(const Attributes& attributes);
CellStep make_lstm_step(const Attributes& attributes);

struct RecurrentCell {
  std::string_view name;
  const CellKind& kind;
  CellStep (*step)(const Attributes& attributes);
};
inline constexpr RecurrentCell kRecurrentCells[] = {
    {"rnn", kRnnCell, make_rnn_step}, {"gru", kGruCell, make_gru_step}, {"lstm", kLstmCell, make_lstm_step}};

}  // namespace hone
