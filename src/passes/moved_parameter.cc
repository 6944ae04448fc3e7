#include "passes/moved_parameter.h"

#include "ops/calls/cast.h"
#include "ops/calls/concat.h"
#include "ops/calls/slice.h"
#include "ops/calls/split.h"
#include "ops/calls/transpose.h"

namespace hone {

bool is_moved_parameter(const Graph& graph, ValueId id) {
  for (; id != kNone && graph.producer(id) != kNone; id = graph.operand(graph.producer(id), 0)) {
    const OpDef* const op = graph.producer_op(id);
    const bool moves = op->view || op == &transpose_def || op == &slice_def || op == &split_def || op == &concat_def;
    if (!moves && (op != &cast_def || !is_float(graph.type(id).dtype))) return false;
  }
  return id != kNone && graph.value(id).role == InputRole::parameter;
}

}  // namespace hone
