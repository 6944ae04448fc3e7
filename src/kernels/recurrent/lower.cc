// Recurrent layers behind their input products.
#include <array>

#include "ir/pointwise.h"
#include "kernels/lowering.h"
#include "kernels/program_uses.h"
#include "kernels/recurrent/plan.h"
#include "ops/recurrent.h"

namespace hone {
namespace {

enum Operand : size_t { kX, kR, kBias, kLengths, kInitialH, kInitialC, kPeepholes };

// The formulas of one direction's cells, as in ops/rnn.cc, gru.cc and lstm.cc.
class CellPrograms {
 public:
  CellPrograms(const Attributes& attributes, std::span<const CellActivation> activations, bool bias, bool peepholes)
      : attributes_(attributes), activations_(activations), bias_(bias), peepholes_(peepholes) {}

  std::vector<RecurrentPlan::Phase> phases(const CellKind& kind) const {
    if (kind.has_cell) return lstm();
    return kind.gates > 1 ? gru() : std::vector{phase(1, {activation(0, gate(0))})};
  }

 private:
  static Expr argument(int first, int64_t gate = 0) { return Expr::arg(first + static_cast<int>(gate), Scalar::f32); }
  static RecurrentPlan::Phase phase(int64_t gates, std::vector<Expr> results) {
    for (Expr& result : results) result = typed(Scalar::f32, result);
    return {gates, flatten(results)};
  }
  bool flag(const char* name) const { return attributes_.get_or<int64_t>(name, 0) != 0; }

  Expr from_state(int64_t g) const {
    const Expr product = argument(kRecurrentProduct, g);
    return bias_ ? product + argument(kRecurrentBias, g) : product;
  }
  Expr gate(int64_t g) const { return argument(kRecurrentInput, g) + from_state(g); }
  Expr with_peephole(Expr x, int64_t which, const Expr& c) const {
    return peepholes_ ? x + argument(kRecurrentPeephole, which) * c : x;
  }
  Expr activation(size_t which, Expr x) const {
    if (attributes_.has("clip")) {
      const Expr clip = Expr::number(Scalar::f32, attributes_.get<double>("clip"));
      x = select(x > clip, clip, select(x < -clip, -clip, x));
    }
    return pointwise_expr(*activations_[which].op, {&x, 1}, std::array{DType::f32}, activations_[which].attributes);
  }

  std::vector<RecurrentPlan::Phase> gru() const {
    const Expr h = argument(kRecurrentH), reset = activation(0, gate(1));
    const auto mixed = [&](const Expr& z, const Expr& candidate) { return (1 - z) * candidate + z * h; };
    const Expr z = activation(0, gate(0));
    if (flag("linear_before_reset"))
      return {phase(3, {mixed(z, activation(1, argument(kRecurrentInput, 2) + reset * from_state(2)))})};
    return {phase(2, {reset * h, z}), phase(1, {mixed(argument(kRecurrentKept), activation(1, gate(2)))})};
  }

  std::vector<RecurrentPlan::Phase> lstm() const {
    enum Gate : int64_t { kInput, kOutput, kForget, kCell };
    const Expr c = argument(kRecurrentC), input = activation(0, with_peephole(gate(kInput), kInput, c));
    const Expr forget = flag("input_forget") ? 1 - input : activation(0, with_peephole(gate(kForget), kForget, c));
    const Expr next = forget * c + input * activation(1, gate(kCell));
    const Expr output = activation(0, with_peephole(gate(kOutput), kOutput, next));
    return {phase(4, {output * activation(2, next), next})};
  }

  const Attributes& attributes_;
  std::span<const CellActivation> activations_;
  bool bias_, peepholes_;
};

// Whether floats go to floats, each by itself.
Support activations_support(std::span<const CellActivation> activations) {
  for (const CellActivation& each : activations) {
    const Program program = pointwise_program(*each.op, std::array{DType::f32}, each.attributes);
    if (program.result_type(0) != Scalar::f32 || uses_index(program))
      return {fmt::format("{} as an activation", each.op->name)};
  }
  return {};
}

Support floats_support(const Graph& graph, const Node& node) {
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const ValueId v = node.operands[i];
    if (v == kNone || i == kLengths) continue;
    const TensorType& type = graph.type(v);
    if (type.is_packed() && i != kR) return {fmt::format("%{} is packed", graph.value(v).name)};
    if (!type.is_packed() && type.dtype != DType::f32) return {fmt::format("a layer of {}", to_string(type.dtype))};
  }
  return {};
}

}  // namespace

Support lower_recurrent(const Lowering& lowering, Prepared& prepared) {
  StepDraft& step = prepared.step();
  const Graph& graph = lowering.graph;
  const Node& node = graph.node(step.group.anchor);
  const auto operand = [&](size_t i) { return i < node.operands.size() ? node.operands[i] : kNone; };
  if (Support r = floats_support(graph, node); !r.supported()) return r;
  const Shape r_shape = lowering.shape(operand(kR)), x_shape = lowering.shape(operand(kX));
  if (!r_shape[2].is_constant()) return {"an open number of units"};
  const std::string cell = node.attributes.get<std::string>("cell");
  const CellKind& kind = std::ranges::find(kRecurrentCells, cell, &RecurrentCell::name)->kind;
  const Directions directions = directions_of(node.attributes);
  const std::vector<CellActivation> activations = activations_of(node.attributes, kind);
  if (Support r = activations_support(activations); !r.supported()) return r;
  RecurrentPlan plan;
  plan.hidden = r_shape[2].constant();
  plan.has_cell = kind.has_cell;
  plan.round_state = kind.has_cell && node.attributes.get_or<int64_t>("round_state", 0) != 0;
  plan.has_lengths = operand(kLengths) != kNone;
  if (plan.has_lengths) plan.lengths = graph.type(operand(kLengths)).dtype;
  for (int64_t d = 0; d < directions.count; ++d) {
    const CellPrograms programs(
        node.attributes,
        std::span(activations).subspan(static_cast<size_t>(d) * kind.activations.size(), kind.activations.size()),
        operand(kBias) != kNone, operand(kPeepholes) != kNone);
    plan.directions.push_back({directions.is_reverse(d), programs.phases(kind)});
  }
  lowering.bind(step, operand(kX));
  lowering.bind(step, operand(kR), Plane::prepacked);
  for (size_t i = kBias; i <= kPeepholes; ++i)
    lowering.bind(step, operand(i), operand(i) == kNone ? Plane::none : Plane::data);
  for (ValueId v : node.results) lowering.bind(step, v);
  if (!kind.has_cell) lowering.bind(step, kNone, Plane::none);
  step.plan = plan;
  step.lasting = true;
  const Extent steps = lowering.extent(x_shape[0]), batch = lowering.extent(x_shape[1]);
  prepared.place = [=](const RunSizes& sizes, StepCall& placed) {
    placed.set(RecurrentArgs{.steps = sizes.of(steps), .batch = sizes.of(batch)});
    return Support{};
  };
  return {};
}

}  // namespace hone
