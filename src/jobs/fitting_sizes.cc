#include "jobs/fitting_sizes.h"

#include <algorithm>

#include "base/error.h"
#include "ir/unbacked.h"
#include "ops/calls/batch_norm.h"
#include "ops/calls/conv.h"
#include "ops/calls/conv_transpose.h"
#include "ops/calls/gru.h"
#include "ops/calls/lstm.h"
#include "ops/calls/rnn.h"
#include "ops/conv_weights.h"

namespace hone {
namespace {

// What the one symbol of `dim` has to be, where the dimension grows evenly with it.
void solve(const Dim& dim, int64_t value, Bindings& found) {
  std::vector<std::string> names;
  dim.collect_symbols(names);
  if (names.size() != 1 || depends_on_data(dim)) return;
  const int64_t at_0 = dim.evaluate({{names[0], 0}}), slope = dim.evaluate({{names[0], 1}}) - at_0;
  if (slope == 0 || (value - at_0) % slope != 0) return;
  const int64_t size = (value - at_0) / slope;
  if (size >= 1 && dim.evaluate({{names[0], size}}) == value) found.emplace(names[0], size);
}

void note_equal(const Dim& a, const Dim& b, Bindings& found) {
  try {
    if (b.is_constant()) solve(a, b.constant(), found);
    else if (a.is_constant()) solve(b, a.constant(), found);
  } catch (const Error&) {  // a division by 0, an overflow
  }
}

// The operands of one node, where their ranks are known.
class Operands {
 public:
  Operands(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  // Axis `a` of operand i beside axis `b` of operand j.
  void equal(size_t i, int64_t a, size_t j, int64_t b, Bindings& found) const {
    const Dim *first = dim(i, a), *second = dim(j, b);
    if (first && second) note_equal(*first, *second, found);
  }

  // Of a convolution, whose weights may lie as a matrix.
  void channels(Bindings& found) const {
    const TensorType& w = graph_.type(node_.operands[1]);
    const Dim* const own = dim(0, node_.op->axis_of_sums(node_.attributes, 0));
    if (!own || !w.ranked) return;
    const Shape weights = conv_weight_shape(node_.attributes, w.shape);
    if (weights.size() > 1) note_equal(*own, weights[1] * node_.attributes.get_or<int64_t>("groups", 1), found);
  }

  // From the last axis on; a size of 1 goes with any.
  void broadcast(Bindings& found) const {
    for (size_t i = 0; i < node_.operands.size(); ++i)
      for (size_t j = 0; j < node_.operands.size(); ++j)
        for (int64_t axis = -1; dim(i, axis) && dim(j, axis); --axis)
          if (*dim(j, axis) != Dim(1)) note_equal(*dim(i, axis), *dim(j, axis), found);
  }

 private:
  const Dim* dim(size_t operand, int64_t axis) const {
    if (operand >= node_.operands.size() || node_.operands[operand] == kNone) return nullptr;
    const TensorType& type = graph_.type(node_.operands[operand]);
    const auto rank = static_cast<int64_t>(type.rank());
    if (!type.ranked || axis >= rank || axis < -rank) return nullptr;
    return &type.shape[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
  }

  const Graph& graph_;
  const Node& node_;
};

void note_node(const Graph& graph, const Node& node, Bindings& found) {
  const OpDef& op = *node.op;
  const Operands operands(graph, node);
  if (op.pointwise || op.row) operands.broadcast(found);
  else if (&op == &conv_transpose_def) operands.equal(0, 1, 1, 0, found);
  else if (&op == &batch_norm_def) operands.equal(0, 1, 1, 0, found);
  else if (&op == &rnn_def || &op == &gru_def || &op == &lstm_def) operands.equal(0, 2, 1, 2, found);
  else if (&op == &conv_def) operands.channels(found);
  else if (op.operands.factors() >= 2)
    operands.equal(0, op.axis_of_sums(node.attributes, 0), 1, op.axis_of_sums(node.attributes, 1), found);
}

// Whether sizes that `bindings` decide are all at least 1.
bool leaves_elements(const Graph& graph, const Bindings& bindings) {
  const auto fits = [&](ValueId v) {
    return std::ranges::all_of(graph.type(v).shape, [&](const Dim& dim) {
      return depends_on_data(dim) || dim.is_constant() || dim.evaluate(bindings) >= 1;
    });
  };
  try {
    return std::ranges::all_of(graph.inputs(), fits) && std::ranges::all_of(graph.nodes(), [&](NodeId n) {
             return std::ranges::all_of(graph.node(n).results, fits);
           });
  } catch (const Error&) {  // a division by 0, an overflow
    return false;
  }
}

double given_elements(const Graph& graph, const Bindings& bindings) {
  double sum = 0;
  for (ValueId v : graph.arguments()) {
    double elements = 1;
    for (const Dim& dim : graph.type(v).shape) elements *= static_cast<double>(dim.evaluate(bindings));
    sum += elements;
  }
  return sum;
}

}  // namespace

Bindings sizes_beside_constants(const Graph& graph) {
  Bindings found;
  for (NodeId n : graph.nodes()) note_node(graph, graph.node(n), found);
  return found;
}

Bindings fitting_sizes(const Graph& graph, const Bindings& guess, const std::vector<std::string>& free, int64_t most) {
  // From a few windows of three taps to a second of sound.
  constexpr int64_t kLengths[] = {16, 64, 256, 1024, 4096, 16384};
  constexpr double kMostElements = 1 << 24;  // of all inputs: 64 MB of f32
  if (free.empty() || leaves_elements(graph, guess)) return guess;
  for (const int64_t length : kLengths) {
    Bindings larger = guess;
    for (const std::string& name : free) larger[name] = std::min(most, std::max(guess.at(name), length));
    if (given_elements(graph, larger) > kMostElements) break;
    if (leaves_elements(graph, larger)) return larger;
  }
  return guess;
}

}  // namespace hone
