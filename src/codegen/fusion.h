// Which nodes share a kernel. A group is one anchor (gemm, attention, row op, gather, move) with the pointwise nodes
// that feed or follow it, or a set of pointwise nodes of one shape; views alias memory and cost nothing; the rest is
// interpreted, with a reason.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace hone {

// A pointwise node that reads the group's values but runs in a kernel of its own.
struct LeftOut {
  NodeId node = kNone;
  std::string why;
};

struct Group {
  Codegen kind = Codegen::none;  // none: interpreted (exactly one node)
  NodeId anchor = kNone;         // kNone for pure pointwise groups
  std::vector<NodeId> nodes;     // in graph order, anchor included
  std::vector<ValueId> results;  // values that someone outside the group reads
  std::vector<LeftOut> left_out;
};

// Every live node of `graph` (constant shapes) in exactly one group; groups in an order in which producers precede
// consumers. Without `together` each node is a group of its own.
std::vector<Group> fuse(const Graph& graph, bool together = true);

// The group in one line: "gemm linear+gelu: %h -> %g".
std::string to_string(const Graph& graph, const Group& group);

}  // namespace hone
