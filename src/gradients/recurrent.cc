// rnn, gru and lstm: what they compute as a scan over steps of products and pointwise ops, and its gradient.
#include "gradients/recurrent.h"

#include <array>

#include "base/error.h"
#include "gradients/accumulate.h"
#include "gradients/iteration.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/cast.h"
#include "ops/calls/comparison.h"
#include "ops/calls/concat.h"
#include "ops/calls/full.h"
#include "ops/calls/gru.h"
#include "ops/calls/linear.h"
#include "ops/calls/lstm.h"
#include "ops/calls/reshape.h"
#include "ops/calls/rnn.h"
#include "ops/calls/rounding.h"
#include "ops/calls/slice.h"

namespace hone {
namespace {

using List = std::vector<int64_t>;
using Values = std::vector<ValueId>;

enum Operand : size_t { kX, kW, kR, kBias, kLengths, kInitialH, kInitialC, kPeepholes };

using Step = RecurrentStep;

// Rows [first, first + count) · H of r, as a linear map of h.
ValueId from_state(const Step& s, ValueId h, int64_t first, int64_t count) {
  const ValueId rows = s.part(s.r, 0, first, count);
  return ops::linear(s.g,
                     {.x = h, .w = rows, .b = s.state_bias == kNone ? kNone : s.part(s.state_bias, 0, first, count)});
}
ValueId one_minus(const Step& s, ValueId v) {
  return ops::sub(s.g, {ops::full(s.g, {.shape = Shape(), .value = 1.0, .dtype = s.g.type(v).dtype}), v});
}
ValueId activation(const Step& s, size_t which, ValueId v) {
  if (s.clip) v = ops::clip(s.g, {.x = v, .min = -*s.clip, .max = *s.clip});
  return s.g.emit(*s.activations[which].op, {v}, s.activations[which].attributes);
}
ValueId peephole(const Step& s, ValueId v, int64_t which, ValueId c) {
  return s.peepholes == kNone ? v : s.add(v, s.mul(s.part(s.peepholes, 0, which), c));
}

// The states h, and c of lstm, after a step from those before it: as in ops/rnn.cc, gru.cc and lstm.cc.
Values rnn_step(const Step& s, const Values& state) {
  return {activation(s, 0, s.add(s.pre, from_state(s, state[0], 0, 1)))};
}

Values gru_step(const Step& s, const Values& state) {
  const ValueId h = state[0];
  const ValueId gates = activation(s, 0, s.add(s.part(s.pre, 1, 0, 2), from_state(s, h, 0, 2)));
  const ValueId z = s.part(gates, 1, 0), reset = s.part(gates, 1, 1);
  const bool before_reset = s.attributes.get_or<int64_t>("linear_before_reset", 0) != 0;
  const ValueId inner = before_reset ? s.mul(reset, from_state(s, h, 2, 1)) : from_state(s, s.mul(reset, h), 2, 1);
  const ValueId candidate = activation(s, 1, s.add(s.part(s.pre, 1, 2), inner));
  return {s.add(s.mul(one_minus(s, z), candidate), s.mul(z, h))};
}

Values lstm_step(const Step& s, const Values& state) {
  enum Gate : int64_t { kInput, kOutput, kForget, kCell };
  const ValueId h = state[0], c = state[1], gates = s.add(s.pre, from_state(s, h, 0, 4));
  const ValueId input = activation(s, 0, peephole(s, s.part(gates, 1, kInput), kInput, c));
  const bool coupled = s.attributes.get_or<int64_t>("input_forget", 0) != 0;
  const ValueId forget =
      coupled ? one_minus(s, input) : activation(s, 0, peephole(s, s.part(gates, 1, kForget), kForget, c));
  const ValueId next = s.add(s.mul(forget, c), s.mul(input, activation(s, 1, s.part(gates, 1, kCell))));
  const ValueId output = activation(s, 0, peephole(s, s.part(gates, 1, kOutput), kOutput, next));
  return {s.mul(output, activation(s, 2, next)), next};
}

}  // namespace

ValueId RecurrentStep::part(ValueId v, int64_t axis, int64_t first, int64_t count) const {
  return ops::slice(
      g, {.x = v, .starts = Shape{hidden * first}, .ends = Shape{hidden * (first + count)}, .axes = List{axis}});
}
ValueId RecurrentStep::add(ValueId v, ValueId w) const { return ops::add(g, {v, w}); }
ValueId RecurrentStep::mul(ValueId v, ValueId w) const { return ops::mul(g, {v, w}); }

Values next_states(const CellKind& kind, const RecurrentStep& step, const Values& state) {
  const auto next = kind.has_cell ? lstm_step : kind.gates > 1 ? gru_step : rnn_step;
  return next(step, state);
}

namespace {

// One recurrent node spelled out.
class Layer {
 public:
  Layer(const GradientArgs& a, const CellKind& kind)
      : a_(a),
        g_(a.graph),
        kind_(kind),
        directions_(directions_of(a.op().attributes)),
        activations_(activations_of(a.op().attributes, kind)),
        dtype_(gradient_dtype(a.type(kX).dtype)),
        batch_(a.type(kX).shape[1]),
        hidden_(a.type(kR).shape[2]) {
    if (a.op().attributes.get_or<int64_t>("round_state", 0) != 0)
      fail("what its state is multiplied as is rounded (round_state), which has no gradient");
  }

  // y [S,D,B,H], and the last states [D,B,H].
  Values results() {
    std::array<Values, 3> by_direction;
    for (int64_t d = 0; d < directions_.count; ++d) {
      const Values results = emit_iteration(g_, direction(d));  // the states, then y
      by_direction[0].push_back(ops::unsqueeze(g_, {.x = results.back(), .axes = List{1}}));
      for (size_t i = 0; i + 1 < results.size(); ++i)
        by_direction[i + 1].push_back(ops::unsqueeze(g_, {.x = results[i], .axes = List{0}}));
    }
    Values joined;
    for (size_t i = 0; i < 1 + states(); ++i)
      joined.push_back(ops::concat(g_, {.inputs = by_direction[i], .axis = i == 0 ? 1 : 0}));
    return joined;
  }

 private:
  size_t states() const { return kind_.has_cell ? 2 : 1; }

  // The part of operand i of direction d, in the type that is computed in.
  ValueId part(size_t i, int64_t d) const {
    if (a_.operand(i) == kNone) return kNone;
    const ValueId one = ops::slice(g_, {.x = a_.operand(i), .starts = Shape{d}, .ends = Shape{d + 1}, .axes = List{0}});
    return as_dtype(g_, ops::squeeze(g_, {.x = one, .axes = List{0}}), dtype_);
  }
  ValueId initial(size_t i, int64_t d) const {
    const ValueId given = part(i, d);
    return given == kNone ? zeros(g_, dtype_, {batch_, hidden_}) : given;
  }

  Iteration direction(int64_t d) const {
    const Dim rows = hidden_ * kind_.gates;
    const ValueId bias = part(kBias, d);
    const auto half = [&](int64_t which) {
      return ops::slice(g_,
                        {.x = bias, .starts = Shape{rows * which}, .ends = Shape{rows * (which + 1)}, .axes = List{0}});
    };
    Iteration iteration{
        .body = {},
        .states = {initial(kInitialH, d)},
        .sliced = {ops::linear(
            g_, {.x = as_dtype(g_, a_.operand(kX), dtype_), .w = part(kW, d), .b = bias == kNone ? kNone : half(0)})},
        .captures = {part(kR, d)},
        .axes = {0},
        .directions = {directions_.is_reverse(d)},
        .result_axes = {0},
        .result_directions = {directions_.is_reverse(d)}};
    if (kind_.has_cell) iteration.states.push_back(initial(kInitialC, d));
    if (a_.operand(kLengths) != kNone) {
      const Dim& steps = a_.type(kX).shape[0];
      iteration.sliced.push_back(ops::iota(g_, {.shape = Shape{steps}}));
      iteration.axes.push_back(0);
      iteration.directions.push_back(iteration.directions[0]);
      const ValueId lengths = ops::cast(g_, {.x = a_.operand(kLengths), .dtype = DType::i64});
      iteration.captures.push_back(ops::unsqueeze(g_, {.x = lengths, .axes = List{1}}));
    }
    if (bias != kNone) iteration.captures.push_back(half(1));
    if (const ValueId peepholes = part(kPeepholes, d); peepholes != kNone) iteration.captures.push_back(peepholes);
    build_body(iteration, d, bias != kNone);
    return iteration;
  }

  void build_body(Iteration& iteration, int64_t d, bool has_bias) const {
    Graph& body = iteration.body;
    const auto input = [&](ValueId v, bool is_slice) {
      TensorType type = g_.type(v);
      if (is_slice) type.shape.erase(type.shape.begin());
      return body.add_input(fmt::format("input {}", body.inputs().size()), type);
    };
    Values state, sliced, captures;
    for (ValueId v : iteration.states) state.push_back(input(v, false));
    for (ValueId v : iteration.sliced) sliced.push_back(input(v, true));
    for (ValueId v : iteration.captures) captures.push_back(input(v, false));
    size_t next = 0;
    const ValueId r = captures[next++];
    const ValueId lengths = sliced.size() > 1 ? captures[next++] : kNone;
    const ValueId state_bias = has_bias ? captures[next++] : kNone;
    const size_t each = activations_.size() / static_cast<size_t>(directions_.count);
    const Attributes& attributes = a_.op().attributes;
    const Step step{.g = body,
                    .pre = sliced[0],
                    .r = r,
                    .state_bias = state_bias,
                    .peepholes = next < captures.size() ? captures[next] : kNone,
                    .activations = std::span(activations_).subspan(static_cast<size_t>(d) * each, each),
                    .clip = attributes.has("clip") ? std::optional(attributes.get<double>("clip")) : std::nullopt,
                    .attributes = attributes,
                    .hidden = hidden_};
    Values after = next_states(kind_, step, state);
    ValueId y = after[0];
    if (lengths != kNone) {  // behind its end a sequence keeps its state and gives zeros
      const ValueId runs = ops::less(body, {sliced[1], lengths});
      y = ops::where(body, {runs, y, zeros(body, dtype_, Shape())});
      for (size_t i = 0; i < after.size(); ++i) after[i] = ops::where(body, {runs, after[i], state[i]});
    }
    for (size_t i = 0; i < after.size(); ++i) body.add_output(after[i], fmt::format("state {}", i));
    body.add_output(y, "y");
  }

  const GradientArgs& a_;
  Graph& g_;
  const CellKind& kind_;
  Directions directions_;
  std::vector<CellActivation> activations_;
  DType dtype_;
  Dim batch_, hidden_;
};

template <const CellKind& kind>
Values recurrent_gradient(const GradientArgs& a) {
  const Values operands = a.op().operands;
  return gradients_through(a, Layer(a, kind).results(), operands);
}

}  // namespace

extern constinit const GradientDef rnn_rule_def{.op = &rnn_def, .rule = recurrent_gradient<kRnnCell>};
extern constinit const GradientDef gru_rule_def{.op = &gru_def, .rule = recurrent_gradient<kGruCell>};
extern constinit const GradientDef lstm_rule_def{.op = &lstm_def, .rule = recurrent_gradient<kLstmCell>};

}  // namespace hone
