// Which nodes share a kernel. A group is one anchor (a node that a kernel class takes as such) with the pointwise nodes
// that feed or follow it, or a set of pointwise nodes of one shape; views alias memory and cost nothing; the rest is
// interpreted, with a reason.
#pragma once

#include <string>
#include <vector>

#include "base/shared_vector.h"
#include "ir/graph.h"
#include "kernels/kernel.h"

namespace hone {

// A pointwise node that reads the group's values but runs in a kernel of its own.
struct LeftOut {
  NodeId node = kNone;
  std::string why;
};

struct Group {
  // Of the classes that take the anchor's op, in the order in which they are asked for code; the first one's rules made
  // the group. None: interpreted (exactly one node), or a view.
  std::span<const KernelDef* const> kernels;
  bool view = false;
  NodeId anchor = kNone;          // kNone for pure pointwise groups
  SharedVector<NodeId> nodes;     // in graph order, anchor included
  SharedVector<ValueId> results;  // values that someone outside the group reads
  SharedVector<LeftOut> left_out;
};

// Every live node of `graph`, whose shapes may be open, in exactly one group; groups in an order in which producers
// precede consumers. Without `together` each node is a group of its own.
std::vector<Group> fuse(const Graph& graph, bool together = true);
Group group_of_one(const Graph& graph, NodeId node);

std::string ops_of(const Graph& graph, const Group& group);  // "linear+gelu"

// The group in one line: "gemm linear+gelu: %h -> %g".
std::string to_string(const Graph& graph, const Group& group);

}  // namespace hone
