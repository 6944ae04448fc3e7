// Reading a graph backwards, and replacing what was found: what the recognising passes share.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace hone {

// The node of that op which produces the value, or kNone.
NodeId produced_by(const Graph& graph, ValueId id, const OpDef& op);

// The number that every element of the value is: a constant of equal elements or a `full`. None for other values.
std::optional<double> uniform_value(const Graph& graph, ValueId id);

bool close(double a,
           double b);  // relative difference below 1e-4: constants that exporters round to f32 or fewer digits

// `node` combines a value with a uniform number and keeps the value's type; `reversed` when the number comes first.
struct WithNumber {
  ValueId value;
  double number;
  bool reversed;
};
std::optional<WithNumber> with_number(const Graph& graph, NodeId node);

// Value times a number, through any chain of mul and div by uniform numbers: id = value * factor.
struct Scaled {
  ValueId value;
  double factor;
};
Scaled peel_scale(const Graph& graph, ValueId id);

// A product tree of mul and div by numbers: id = factor * product of values. Stops at values equal to `stop`.
struct Product {
  std::vector<ValueId> values;
  double factor = 1;
};
Product flatten_product(const Graph& graph, ValueId id, ValueId stop = kNone);

// The other operand of a commutative two-operand node, kNone when `known` is not one of them.
ValueId operand_beside(const Graph& graph, NodeId node, ValueId known);

// A node that reduces the last axis alone and keeps it with length 1.
bool reduces_last_axis(const Graph& graph, NodeId node);

// The same result computed by a new node at the place of `old`: takes over uses and name. Returns the new node.
NodeId replace_node(Graph& graph, NodeId old, Call call);

// All uses of the node's only result go to `value`, which exists already; the node goes.
void replace_by_value(Graph& graph, NodeId old, ValueId value);

// A label for a constant made from `source`: source's own when nothing uses source any more (which then loses it),
// otherwise one with `suffix`; never one that is taken. "" when source has none.
std::string derived_label(Graph& graph, ValueId source, std::string_view suffix);

}  // namespace hone
