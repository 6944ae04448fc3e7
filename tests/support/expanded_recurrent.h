// rnn, gru, lstm and recurrent_steps of constant sizes, step after step.
#pragma once

#include <array>

#include "gradients/recurrent.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/cast.h"
#include "ops/calls/comparison.h"
#include "ops/calls/concat.h"
#include "ops/calls/full.h"
#include "ops/calls/gru.h"
#include "ops/calls/linear.h"
#include "ops/calls/lstm.h"
#include "ops/calls/recurrent_steps.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"
#include "ops/calls/rnn.h"
#include "ops/calls/rounding.h"
#include "ops/calls/slice.h"

namespace hone::test {

class ExpandedRecurrent {
 public:
  using Values = std::vector<ValueId>;

  // `operands` of the op: kNone where absent.
  ExpandedRecurrent(Graph& graph, const OpDef& op, const Attributes& attributes, Values operands)
      : g_(graph),
        attributes_(attributes),
        operands_(std::move(operands)),
        has_products_(&op == &recurrent_steps_def),
        cell_(*std::ranges::find(kRecurrentCells,
                                 has_products_ ? attributes.get<std::string>("cell") : std::string(op.name),
                                 &RecurrentCell::name)) {
    if (has_products_) operands_.insert(operands_.begin() + kW, kNone);
    operands_.resize(kPeepholes + 1, kNone);
    steps_ = g_.type(operands_[kX]).shape[0].constant(), batch_ = g_.type(operands_[kX]).shape[1];
    hidden_ = g_.type(operands_[kR]).shape[2];
  }

  Values results() {
    const Directions directions = directions_of(attributes_);
    std::vector<Values> parts(cell_.kind.has_cell ? 3 : 2);  // of each result, by direction
    for (int64_t d = 0; d < directions.count; ++d) walk(d, directions, parts);
    Values joined;
    for (size_t i = 0; i < parts.size(); ++i)
      joined.push_back(ops::concat(g_, {.inputs = parts[i], .axis = i == 0 ? 1 : 0}));
    return joined;
  }

 private:
  enum Operand : size_t { kX, kW, kR, kBias, kLengths, kInitialH, kInitialC, kPeepholes };

  ValueId at(ValueId v, int64_t axis, const Dim& first, const Dim& count) {
    return ops::slice(
        g_, {.x = v, .starts = Shape{first}, .ends = Shape{first + count}, .axes = std::vector<int64_t>{axis}});
  }
  ValueId squeezed(ValueId v, int64_t axis = 0) {
    return ops::squeeze(g_, {.x = v, .axes = std::vector<int64_t>{axis}});
  }
  ValueId unsqueezed(ValueId v, int64_t axis) {
    return ops::unsqueeze(g_, {.x = v, .axes = std::vector<int64_t>{axis}});
  }
  ValueId of_direction(size_t operand, int64_t d) {
    return operands_[operand] == kNone ? kNone : squeezed(at(operands_[operand], 0, d, 1));
  }
  ValueId zeros(Shape shape) { return ops::full(g_, {.shape = std::move(shape), .value = 0.0, .dtype = DType::f32}); }
  ValueId initial(size_t operand, int64_t d) {
    return operands_[operand] == kNone ? zeros({batch_, hidden_}) : of_direction(operand, d);
  }

  bool rounds() const { return cell_.kind.has_cell && attributes_.get_or<int64_t>("round_state", 0) != 0; }

  // h [B,H] in 256 steps from min(h, 0) to max(h, 0), as ops/lstm.cc.
  ValueId in_steps(ValueId h) {
    const auto number = [&](double value) {
      return ops::full(g_, {.shape = Shape(), .value = value, .dtype = DType::f32});
    };
    const std::vector<int64_t> row{1};
    const ValueId low = ops::min(g_, {ops::reduce_min(g_, {.x = h, .axes = row}), number(0)}),
                  high = ops::max(g_, {ops::reduce_max(g_, {.x = h, .axes = row}), number(0)});
    ValueId size = ops::div(g_, {ops::sub(g_, {high, low}), number(255)});
    size = ops::where(g_, {ops::equal(g_, {low, high}), number(1), size});
    const auto codes = [&](ValueId v) { return ops::round(g_, {ops::div(g_, {v, size})}); };
    const auto within = [&](ValueId v) { return ops::clip(g_, {.x = v, .min = 0.0, .max = 255.0}); };
    const ValueId zero = within(codes(ops::neg(g_, {low})));
    return ops::mul(g_, {ops::sub(g_, {within(ops::add(g_, {codes(h), zero})), zero}), size});
  }

  void walk(int64_t d, const Directions& directions, std::vector<Values>& parts) {
    const Dim rows = hidden_ * cell_.kind.gates;
    const ValueId bias = of_direction(kBias, d), w = of_direction(kW, d), r = of_direction(kR, d),
                  peepholes = of_direction(kPeepholes, d);
    const std::vector<CellActivation> activations = activations_of(attributes_, cell_.kind);
    const size_t each = activations.size() / static_cast<size_t>(directions.count);
    Values state{initial(kInitialH, d)};
    if (cell_.kind.has_cell) state.push_back(initial(kInitialC, d));
    Values y(static_cast<size_t>(steps_));
    for (int64_t i = 0; i < steps_; ++i) {
      const int64_t t = directions.is_reverse(d) ? steps_ - 1 - i : i;
      ValueId pre = squeezed(at(operands_[kX], 0, t, 1));
      if (has_products_) pre = at(pre, 1, rows * d, rows);
      else pre = ops::linear(g_, {.x = pre, .w = w, .b = bias == kNone ? kNone : at(bias, 0, 0, rows)});
      const ValueId of_r = bias == kNone || has_products_ ? bias : at(bias, 0, rows, rows);
      const RecurrentStep step{
          .g = g_,
          .pre = pre,
          .r = r,
          .state_bias = of_r,
          .peepholes = peepholes,
          .activations = std::span(activations).subspan(static_cast<size_t>(d) * each, each),
          .clip = attributes_.has("clip") ? std::optional(attributes_.get<double>("clip")) : std::nullopt,
          .attributes = attributes_,
          .hidden = hidden_};
      if (rounds()) state[0] = in_steps(state[0]);
      Values after = next_states(cell_.kind, step, state);
      ValueId& out = y[static_cast<size_t>(t)] = after[0];
      if (operands_[kLengths] != kNone) {
        const ValueId number = g_.add_constant("", Tensor::of<int64_t>({}, std::vector<int64_t>{t}));
        const ValueId lengths = unsqueezed(ops::cast(g_, {.x = operands_[kLengths], .dtype = DType::i64}), 1);
        const ValueId runs = ops::less(g_, {number, lengths});
        out = ops::where(g_, {runs, out, zeros({})});
        for (size_t j = 0; j < after.size(); ++j) after[j] = ops::where(g_, {runs, after[j], state[j]});
      }
      state = after;
    }
    for (ValueId& each_y : y) each_y = unsqueezed(each_y, 0);
    parts[0].push_back(unsqueezed(ops::concat(g_, {.inputs = y, .axis = 0}), 1));
    for (size_t j = 0; j < state.size(); ++j) parts[j + 1].push_back(unsqueezed(state[j], 0));
  }

  Graph& g_;
  const Attributes& attributes_;
  Values operands_;
  bool has_products_;
  const RecurrentCell& cell_;
  int64_t steps_ = 0;
  Dim batch_, hidden_;
};

// Layers of f32: others are interpreted.
inline bool is_expanded_recurrent(const OpDef& op, std::span<const TensorType* const> operands) {
  const bool is_layer = &op == &rnn_def || &op == &gru_def || &op == &lstm_def || &op == &recurrent_steps_def;
  return is_layer && operands[0]->dtype == DType::f32;
}

}  // namespace hone::test
