// Values that a body reads from around it: trailing operands of its node, and inputs of the body (ops/control.cc).
#pragma once

#include <cstddef>
#include <optional>

#include "ir/graph.h"

namespace hone {

struct Capture {
  const Graph* body;
  size_t which;   // of the node's bodies
  ValueId input;  // there
};

// None where the operand is no capture: a condition, a value that iterations change, a tensor taken slice by slice.
std::optional<Capture> capture_at(const Node& node, size_t operand);

bool is_captured(const Graph& graph, ValueId value);

// Inputs of bodies take the format of what they capture, where passes have packed it, and types that follow are
// inferred again.
void retype_captures(Graph& graph);

}  // namespace hone
