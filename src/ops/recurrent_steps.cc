// recurrent_steps: a recurrent layer behind its input products. What rnn, gru and lstm become to be compiled: products
// of all steps at once are a linear of their own, and what is left goes from step to step.
#include "ops/recurrent.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr auto kAttributes =
    recurrent_attributes(AttributeSpec{"cell", AttributeKind::string, true, "rnn, gru or lstm"}, kLinearBeforeReset,
                         kInputForget, kRoundState);

const RecurrentCell& cell_of(const Attributes& attributes) {
  const std::string name = attributes.get<std::string>("cell");
  for (const RecurrentCell& cell : kRecurrentCells)
    if (cell.name == name) return cell;
  fail("cell is \"{}\"; accepted: rnn, gru, lstm", name);
}

// In the order of lstm's operands, which has w behind the first.
template <class Args>
auto with_absent_w(const Args& a) {
  std::vector<std::remove_const_t<typename decltype(a.operands)::element_type>> operands(a.operands.begin(),
                                                                                         a.operands.end());
  operands.insert(operands.begin() + 1, nullptr);
  return operands;
}

std::vector<TensorType> infer(const InferArgs& a) {
  const CellKind& kind = cell_of(a.attributes).kind;
  if (!kind.has_cell && (a.has(5) || a.has(6)))
    fail("a cell state or peepholes are given; accepted: neither, unless the cell is lstm");
  const auto operands = with_absent_w(a);
  InferArgs shifted = a;
  shifted.operands = operands;
  return infer_recurrent(shifted, kind);
}

std::vector<Tensor> eval(const EvalArgs& a) {
  const RecurrentCell& cell = cell_of(a.attributes);
  const auto operands = with_absent_w(a);
  EvalArgs shifted = a;
  shifted.operands = operands;
  return eval_recurrent(shifted, cell.kind, cell.step(a.attributes));
}

Dim flops(const InferArgs& a) {
  const Shape &x = a[0].shape, &r = a[1].shape;
  return 2 * x[0] * x[1] * r[0] * r[1] * r[2];
}

}  // namespace

extern constinit const OpDef recurrent_steps_def{
    .name = "recurrent_steps",
    .doc =
        "rnn, gru or lstm (`cell`) of x[S,B,D·gates·H], the products W·x of all directions with their bias: every h "
        "[S,D,B,H], the last h and of lstm the last c of each sequence [D,B,H]. Operands x, r[D,gates·H,H], "
        "b[D,gates·H]? (added to R·h), lengths[B]?, initial_h[D,B,H]?, and of lstm initial_c[D,B,H]?, p[D,3H]?.",
    .operands = {"x", "r", optional("b"), optional("lengths"), optional("initial_h"), optional("initial_c"),
                 optional("p")},
    .attributes = kAttributes,
    .results = -1,
    .infer = infer,
    .eval = eval,
    .no_gradient = "it is what rnn, gru and lstm become to be compiled, which have gradients",
    .flops = flops};

}  // namespace hone
