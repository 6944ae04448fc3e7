// rnn, gru and lstm as the input products of all steps at once, which are one linear, and recurrent_steps.
#include <algorithm>

#include "ops/calls/arithmetic.h"
#include "ops/calls/linear.h"
#include "ops/calls/recurrent_steps.h"
#include "ops/calls/reshape.h"
#include "ops/calls/slice.h"
#include "ops/recurrent.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

enum Operand : size_t { kX, kW, kR, kBias, kLengths };

bool has_floats(const TensorType& type) { return type.ranked && (type.is_packed() || type.dtype == DType::f32); }

// Sizes of weights are known, and nothing is empty: sums of no products are left to the reference.
bool applies(const Graph& graph, const Node& node) {
  for (size_t i = 0; i < node.operands.size(); ++i) {
    if (node.operands[i] == kNone) continue;
    const TensorType& type = graph.type(node.operands[i]);
    if (i != kLengths && !has_floats(type)) return false;
    if (type.is_packed() && (!graph.constant(node.operands[i]) || i == kX)) return false;
    if (!type.ranked || std::ranges::find(type.shape, Dim(0)) != type.shape.end()) return false;
  }
  return is_constant(graph.type(node.operands[kW]).shape) && is_constant(graph.type(node.operands[kR]).shape);
}

class Layer {
 public:
  Layer(Graph& graph, const Node& node, const RecurrentCell& cell) : g_(graph), node_(node), cell_(cell) {}

  std::vector<ValueId> expanded() {
    const Shape& w = g_.type(node_.operands[kW]).shape;
    const Dim rows = w[0] * w[1];
    // Of gru's third gate only what follows R·h is multiplied by r, so that its bias stays with it.
    const bool apart = node_.attributes.get_or<int64_t>("linear_before_reset", 0) != 0;
    ValueId of_w = kNone, of_r = kNone;
    if (bias() != kNone) {
      of_w = half(0, w[1]), of_r = half(1, w[1]);
      if (!apart) of_w = ops::add(g_, {of_w, of_r}), of_r = kNone;
      of_w = ops::reshape(g_, {.x = of_w, .shape = Shape{rows}});
    }
    const ValueId products = ops::linear(g_, {.x = node_.operands[kX], .w = as_matrix(rows, w[2]), .b = of_w});
    std::vector<ValueId> operands{products, plain(node_.operands[kR]), of_r};
    for (size_t i = kLengths; i < node_.operands.size(); ++i) operands.push_back(plain(node_.operands[i]));
    Attributes attributes = node_.attributes;
    attributes.set("cell", std::string(cell_.name));
    return g_.emit_all({&recurrent_steps_def, std::move(operands), std::move(attributes)});
  }

 private:
  ValueId bias() const { return node_.operands.size() > kBias ? node_.operands[kBias] : kNone; }
  ValueId half(int64_t which, const Dim& rows) {
    return ops::slice(g_, {.x = plain(bias()),
                           .starts = Shape{rows * which},
                           .ends = Shape{rows * (which + 1)},
                           .axes = std::vector<int64_t>{1}});
  }
  // A constant as floats, where it is packed.
  ValueId plain(ValueId v) {
    if (v == kNone || !g_.type(v).is_packed()) return v;
    return g_.add_constant("", unpack(*g_.constant(v)));
  }
  ValueId as_matrix(const Dim& rows, const Dim& columns) {
    const ValueId w = plain(node_.operands[kW]);
    if (const Tensor* constant = g_.constant(w))
      return g_.add_constant("", constant->reshaped({rows.constant(), columns.constant()}));
    return ops::reshape(g_, {.x = w, .shape = Shape{rows, columns}});
  }

  Graph& g_;
  const Node& node_;
  const RecurrentCell& cell_;
};

void expand(Graph& graph, NodeId id, const RecurrentCell& cell) {
  const Node node = graph.node(id);
  graph.set_insertion_point(id);
  const std::vector<ValueId> results = Layer(graph, node, cell).expanded();
  graph.set_insertion_point(kNone);
  for (size_t i = 0; i < results.size(); ++i) graph.replace_all_uses(node.results[i], results[i]);
  graph.erase(id);
}

Graph expand_recurrent(Graph graph, const PassContext&) {
  for (const RecurrentCell& cell : kRecurrentCells)
    for (NodeId id : graph.nodes(cell.name))
      if (applies(graph, graph.node(id))) expand(graph, id, cell);
  graph.erase_unused_constants();
  return graph;
}

}  // namespace

extern constinit const PassDef expand_recurrent_def{
    .name = "expand_recurrent",
    .doc = "rnn, gru and lstm of f32 → a linear for the input products of all steps, and recurrent_steps.",
    .run = expand_recurrent};

}  // namespace hone
