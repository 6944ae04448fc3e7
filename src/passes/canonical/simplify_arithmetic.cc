// Pointwise ops that change nothing (up to the sign of a zero), and a mask of attention that masks nothing.
#include "base/stop.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/attention.h"
#include "ops/calls/cast.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

// x + 0, 0 + x, x - 0, x * 1, 1 * x, x / 1.
bool changes_nothing(const OpDef* op, const WithNumber& found) {
  if (op == &add_def) return found.number == 0;
  if (op == &mul_def) return found.number == 1;
  if (found.reversed) return false;
  return (op == &sub_def && found.number == 0) || (op == &div_def && found.number == 1);
}

Graph simplify_arithmetic(Graph graph, const PassContext&) {
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  for (NodeId id : nodes) {
    check_stop();
    const OpDef* const op = graph.node(id).op;
    if (op == &cast_def && graph.type(graph.operand(id, 0)) == graph.type(graph.result(id)))
      replace_by_value(graph, id, graph.operand(id, 0));
    else if (const auto found = with_number(graph, id); found && changes_nothing(op, *found))
      replace_by_value(graph, id, found->value);
    else if (op == &attention_def && graph.node(id).operands.size() >= 4 && graph.operand(id, 3) != kNone &&
             is_float(graph.type(graph.operand(id, 3)).dtype) && uniform_value(graph, graph.operand(id, 3)) == 0.0)
      graph.set_operand(id, 3, kNone);
  }
  return graph;
}

}  // namespace

extern constinit const PassDef simplify_arithmetic_def{
    .name = "simplify_arithmetic",
    .doc = "x + 0, x - 0, x * 1, x / 1 and casts to the same type become x; an attention mask of zeros is dropped.",
    .run = simplify_arithmetic};

}  // namespace hone
