#include "ops/recurrent.h"

#include <algorithm>
#include <limits>

#include "base/memory_limit.h"
#include "base/threads.h"
#include "ir/pointwise.h"
#include "ops/registry.h"
#include "ops/rules.h"

namespace hone {
namespace {

enum Operand : size_t { kX, kW, kR, kBias, kLengths, kInitialH, kInitialC, kPeepholes };

// Takes the next of the numbers in attribute `list` for an activation that has `own`; its default stays once they are
// used up.
void take_next(const Attributes& attributes, const char* list, const OpDef& op, const char* own, size_t& used,
               Attributes& to) {
  const auto numbers = attributes.get_or<std::vector<double>>(list, {});
  for (const AttributeSpec& spec : op.attributes)
    if (std::string_view(spec.name) == own && used < numbers.size()) to.set(own, numbers[used++]);
}

std::vector<Program> activation_programs(const Attributes& attributes, const CellKind& kind) {
  std::vector<Program> programs;
  for (const CellActivation& each : activations_of(attributes, kind))
    programs.push_back(pointwise_program(*each.op, std::array{DType::f64}, each.attributes));
  return programs;
}

void expect_shape(const InferArgs& a, size_t operand, const Shape& wanted, const char* what) {
  if (!a.has(operand)) return;
  expect_float(a[operand], what);
  expect_rank(a[operand], wanted.size(), wanted.size(), what);
  for (size_t i = 0; i < wanted.size(); ++i)
    expect_dim(a[operand].shape[i], wanted[i], fmt::format("dimension {} of {}", i, what).c_str());
}

// A length and a state, without its elements: of batches that have none there may be many sequences.
constexpr int64_t kSequenceBytes = 128;

// Operands of one evaluation as doubles.
struct Layer {
  int64_t steps, batch, inputs, hidden, gates;
  Directions directions;
  MemoryCharge room;
  std::vector<double> x, w, r;
  bool has_products;  // x are those of w
  std::vector<double> bias, peepholes, initial_h, initial_c;
  std::vector<int64_t> lengths;
  std::vector<Program> activations;
  double clip;

  Layer(const EvalArgs& a, const CellKind& kind)
      : steps(a[kX].dim(0)),
        batch(a[kX].dim(1)),
        inputs(a[kX].dim(2)),
        hidden(a[kR].dim(2)),
        gates(kind.gates),
        directions(directions_of(a.attributes)),
        room(checked_mul(checked_mul(directions.count, batch), kSequenceBytes), "the states of sequences"),
        x(a[kX].to_doubles()),
        w(a.has(kW) ? a[kW].to_doubles() : std::vector<double>()),
        r(a[kR].to_doubles()),
        has_products(!a.has(kW)),
        bias(given_or_zeros(a, kBias, biases() * gates * hidden)),
        peepholes(given_or_zeros(a, kPeepholes, 3 * hidden)),
        initial_h(given_or_zeros(a, kInitialH, batch * hidden)),
        initial_c(given_or_zeros(a, kInitialC, batch * hidden)),
        lengths(a.has(kLengths) ? a[kLengths].to_integers() : std::vector(static_cast<size_t>(batch), steps)),
        activations(activation_programs(a.attributes, kind)),
        clip(a.attributes.get_or<double>("clip", std::numeric_limits<double>::infinity())) {
    for (int64_t length : lengths)
      if (length < 0 || length > steps)
        fail("a sequence has length {}; accepted: 0 to {}, the steps of x", length, steps);
  }

  std::vector<double> given_or_zeros(const EvalArgs& a, size_t operand, int64_t per_direction) const {
    if (a.has(operand)) return a[operand].to_doubles();
    return std::vector(static_cast<size_t>(directions.count * per_direction), 0.0);
  }

  int64_t biases() const { return has_products ? 1 : 2; }  // of each row

  CellWeights weights(int64_t d) const {
    const int64_t rows = gates * hidden;
    const double* b = bias.data() + d * biases() * rows;
    return {inputs,
            hidden,
            has_products,
            has_products ? nullptr : w.data() + d * rows * inputs,
            r.data() + d * rows * hidden,
            b,
            b + (biases() - 1) * rows,
            peepholes.data() + d * 3 * hidden};
  }

  const double* input(int64_t d, int64_t step, int64_t column) const {
    return x.data() + (step * batch + column) * inputs + (has_products ? d * gates * hidden : 0);
  }

  CellActivations activations_of(int64_t d) const {
    const size_t each = activations.size() / static_cast<size_t>(directions.count);
    return {std::span(activations).subspan(static_cast<size_t>(d) * each, each), clip};
  }

  CellState initial(int64_t sequence) const {  // sequence: direction * batch + position in the batch
    const auto row = [&](const std::vector<double>& all) {
      const auto begin = all.begin() + sequence * hidden;
      return std::vector(begin, begin + hidden);
    };
    return {row(initial_h), row(initial_c)};
  }
};

}  // namespace

Directions directions_of(const Attributes& attributes) {
  const std::string name = attributes.get_or<std::string>("direction", "forward");
  if (name == "forward") return {};
  if (name == "reverse") return {.first_is_reverse = true};
  if (name != "bidirectional") fail("direction is \"{}\"; accepted: forward, reverse, bidirectional", name);
  return {.count = 2};
}

std::vector<CellActivation> activations_of(const Attributes& attributes, const CellKind& kind) {
  std::vector<std::string> names;
  for (int64_t d = 0; d < directions_of(attributes).count; ++d)
    names.insert(names.end(), kind.activations.begin(), kind.activations.end());
  const size_t count = names.size();
  names = attributes.get_or<std::vector<std::string>>("activations", names);
  if (names.size() != count) fail("{} activations are listed; accepted: {}", names.size(), count);
  std::vector<CellActivation> activations;
  size_t alphas = 0, betas = 0;
  for (const std::string& name : names) {
    const OpDef* op = ops::find(name);
    if (!op || !op->pointwise || op->operands.least() != 1 || op->operands.most() != 1)
      fail("activation \"{}\" is not a pointwise op of one operand, such as tanh, sigmoid, relu", name);
    Attributes own;
    take_next(attributes, "activation_alpha", *op, "alpha", alphas, own);
    take_next(attributes, "activation_beta", *op, "beta", betas, own);
    activations.push_back({op, std::move(own)});
  }
  return activations;
}

std::vector<TensorType> infer_recurrent(const InferArgs& a, const CellKind& kind) {
  const Directions directions = directions_of(a.attributes);
  expect_float(a[kX], "x");
  expect_rank(a[kX], 3, 3, "x [S,B,I]");
  expect_rank(a[kR], 3, 3, "r [D,gates·H,H]");
  const Shape& x = a[kX].shape;
  const Dim count = directions.count, hidden = a[kR].shape[2], rows = kind.gates * hidden;
  expect_shape(a, kW, {count, rows, x[2]}, "w [D,gates·H,I]");
  expect_shape(a, kR, {count, rows, hidden}, "r [D,gates·H,H]");
  if (!a.has(kW)) expect_dim(x[2], count * rows, "the last dimension of x, one per row of r,");
  expect_shape(a, kBias, {count, a.has(kW) ? 2 * rows : rows}, a.has(kW) ? "b [D,2·gates·H]" : "b [D,gates·H]");
  expect_shape(a, kInitialH, {count, x[1], hidden}, "initial_h [D,B,H]");
  expect_shape(a, kInitialC, {count, x[1], hidden}, "initial_c [D,B,H]");
  expect_shape(a, kPeepholes, {count, 3 * hidden}, "peepholes [D,3·H]");
  if (a.has(kLengths)) {
    expect_index(a[kLengths], "lengths");
    expect_rank(a[kLengths], 1, 1, "lengths [B]");
    expect_dim(a[kLengths].shape[0], x[1], "the number of lengths, one per sequence of x,");
  }
  activation_programs(a.attributes, kind);  // throws Error when one is unknown
  const TensorType state = plain_type(a[kX].dtype, {count, x[1], hidden});
  std::vector<TensorType> results{plain_type(a[kX].dtype, {x[0], count, x[1], hidden}), state};
  if (kind.has_cell) results.push_back(state);
  return results;
}

Dim recurrent_flops(const InferArgs& a) {
  const Shape &x = a[kX].shape, &w = a[kW].shape, &r = a[kR].shape;
  return 2 * x[0] * x[1] * r[0] * r[1] * (w[2] + r[2]);
}

void CellActivations::apply(size_t which, std::span<double> values) {
  for (double& value : values) value = value > clip_ ? clip_ : value < -clip_ ? -clip_ : value;
  interpreters_[which].run(std::array{ConstColumn{values.data()}}, 0, std::ssize(values),
                           std::array{MutableColumn{values.data()}});
}

std::vector<Tensor> eval_recurrent(const EvalArgs& a, const CellKind& kind, const CellStep& step) {
  const Layer layer(a, kind);
  const int64_t sequences = layer.directions.count * layer.batch;
  std::vector<double> y(static_cast<size_t>(layer.steps * sequences * layer.hidden));  // zeros behind each length
  std::vector<CellState> states(static_cast<size_t>(sequences));
  parallel_for(sequences, [&](int64_t s) {
    const int64_t direction = s / layer.batch, column = s % layer.batch;
    const CellWeights weights = layer.weights(direction);
    CellActivations activations = layer.activations_of(direction);
    CellState& state = states[static_cast<size_t>(s)] = layer.initial(s);
    const int64_t length = layer.hidden > 0 ? layer.lengths[static_cast<size_t>(column)] : 0;
    for (int64_t i = 0; i < length; ++i) {
      const int64_t t = layer.directions.is_reverse(direction) ? length - 1 - i : i;
      step(weights, activations, layer.input(direction, t, column), state);
      std::ranges::copy(state.h, y.begin() + (t * sequences + s) * layer.hidden);
    }
  });
  std::vector<double> last[2];
  for (const CellState& state : states) {
    last[0].insert(last[0].end(), state.h.begin(), state.h.end());
    last[1].insert(last[1].end(), state.c.begin(), state.c.end());
  }
  std::vector<Tensor> results{Tensor::from_doubles(a.results[0].dtype, sizes_of(a.results[0]), y)};
  for (size_t i = 1; i < a.results.size(); ++i)
    results.push_back(Tensor::from_doubles(a.results[i].dtype, sizes_of(a.results[i]), last[i - 1]));
  return results;
}

}  // namespace hone
