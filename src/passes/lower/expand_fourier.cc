// dft and stft of known lengths as products with constant matrices: a transform is linear, so a row of its matrix is
// what the op itself makes of a signal that is 1 at one place and 0 elsewhere. Frames of an stft lie under the window
// of a convolution.
#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "ops/calls/cast.h"
#include "ops/calls/conv.h"
#include "ops/calls/fourier.h"
#include "ops/calls/linear.h"
#include "ops/calls/reshape.h"
#include "ops/calls/transpose.h"
#include "ops/evaluate.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

constexpr int64_t kMostInputs = 4096;                    // real numbers that one result is made of
constexpr int64_t kMostCoefficients = int64_t{1} << 23;  // 32 MB
constexpr int64_t kAtOnce = int64_t{1} << 18;            // elements of the signals that are evaluated together

// Constants among the operands, x left out; none when one is computed.
std::optional<std::vector<const Tensor*>> known_operands(const Graph& graph, const Node& node) {
  std::vector<const Tensor*> known{nullptr};
  for (size_t i = 1; i < node.operands.size(); ++i) {
    known.push_back(node.operands[i] == kNone ? nullptr : graph.constant(node.operands[i]));
    if (node.operands[i] != kNone && !known.back()) return std::nullopt;
  }
  return known;
}

// [results, length * parts], of results that have `results` numbers for signals [length, parts].
Tensor matrix_of(const OpDef& op, std::vector<const Tensor*> operands, const Attributes& attributes, int64_t length,
                 int64_t parts, int64_t results) {
  const int64_t inputs = length * parts, at_once = std::max<int64_t>(1, kAtOnce / inputs);
  Tensor matrix(DType::f32, {results, inputs});
  const std::span<float> to = matrix.mutable_as<float>();
  for (int64_t first = 0; first < inputs; first += at_once) {
    const int64_t rows = std::min(at_once, inputs - first);
    Tensor signals(DType::f32, {rows, length, parts});
    for (int64_t i = 0; i < rows; ++i) signals.mutable_as<float>()[static_cast<size_t>(i * inputs + first + i)] = 1;
    operands[0] = &signals;
    const std::vector<float> made = evaluate_node(op, operands, attributes)[0].to_floats();
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < results; ++j)
        to[static_cast<size_t>(j * inputs + first + i)] = made[static_cast<size_t>(i * results + j)];
  }
  return matrix;
}

bool is_small(int64_t length, int64_t parts, const Dim& bins, const Dim& result_parts) {
  return bins.is_constant() && result_parts.is_constant() && length > 0 && length <= kMostInputs / parts &&
         bins.constant() > 0 && bins.constant() <= kMostCoefficients / (length * parts * result_parts.constant());
}

class Expansion {
 public:
  Expansion(Graph& graph, NodeId id) : g_(graph), id_(id), node_(graph.node(id)) {}

  void run() {
    const TensorType& x = type(0);
    const DType dtype = g_.type(node_.results[0]).dtype;
    if (dtype == DType::f64 || x.is_packed() || !x.ranked || !x.shape.back().is_constant()) return;
    const std::optional<std::vector<const Tensor*>> known = known_operands(g_, node_);
    if (!known) return;
    g_.set_insertion_point(id_);
    const ValueId y = node_.op == &dft_def ? dft(*known) : stft(*known);
    if (y != kNone) replace_by_value(g_, id_, dtype == DType::f32 ? y : ops::cast(g_, {.x = y, .dtype = dtype}));
    g_.set_insertion_point(kNone);
  }

 private:
  const TensorType& type(size_t operand) const { return g_.type(node_.operands[operand]); }
  ValueId constant(Tensor tensor) { return g_.add_constant("", std::move(tensor)); }
  ValueId signal() {
    const ValueId x = node_.operands[0];
    return type(0).dtype == DType::f32 ? x : ops::cast(g_, {.x = x, .dtype = DType::f32});
  }
  int64_t number(const std::vector<const Tensor*>& known, size_t operand, const char* attribute, int64_t otherwise) {
    if (operand < known.size() && known[operand]) return known[operand]->to_integers().at(0);
    const Shape given = node_.attributes.get_or<Shape>(attribute, {});
    return given.empty() || !given[0].is_constant() ? otherwise : given[0].constant();
  }

  ValueId dft(std::vector<const Tensor*> known) {
    const Shape in = type(0).shape, out = g_.type(node_.results[0]).shape;
    const auto rank = std::ssize(in);
    int64_t axis = number(known, 2, "axis", -2);
    if (axis < 0) axis += rank;
    const auto at = static_cast<size_t>(axis);
    if (!in[at].is_constant()) return kNone;
    const int64_t length = in[at].constant(), parts = in.back().constant();
    if (!is_small(length, parts, out[at], out.back())) return kNone;
    Attributes attributes = node_.attributes;
    attributes.set("axis", Shape{1});
    if (known.size() > 2) known.resize(2);
    const int64_t results = out[at].constant() * out.back().constant();
    const ValueId matrix = constant(matrix_of(dft_def, known, attributes, length, parts, results));
    std::vector<int64_t> perm;  // the axis before the parts
    for (int64_t i = 0; i < rank - 1; ++i)
      if (i != axis) perm.push_back(i);
    perm.push_back(axis), perm.push_back(rank - 1);
    const bool moves = axis != rank - 2;
    Shape lead;
    for (size_t i = 0; i + 2 < perm.size(); ++i) lead.push_back(in[static_cast<size_t>(perm[i])]);
    ValueId y = signal();
    if (moves) y = ops::transpose(g_, {.x = y, .perm = perm});
    y = ops::reshape(g_, {.x = y, .shape = Shape{element_count(lead), length * parts}});
    y = ops::linear(g_, {.x = y, .w = matrix});
    lead.push_back(out[at]), lead.push_back(out.back());
    y = ops::reshape(g_, {.x = y, .shape = lead});
    if (!moves) return y;
    std::vector<int64_t> back(perm.size());
    for (size_t i = 0; i < perm.size(); ++i) back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
    return ops::transpose(g_, {.x = y, .perm = back});
  }

  ValueId stft(std::vector<const Tensor*> known) {
    const Shape in = type(0).shape, out = g_.type(node_.results[0]).shape;
    const Tensor* window = known.size() > 1 ? known[1] : nullptr;
    const int64_t step = number(known, 2, "step", 0), parts = in.back().constant(),
                  whole = window                ? window->elements()
                          : in[1].is_constant() ? in[1].constant()
                                                : 0,
                  length = number(known, 3, "length", whole);
    if (step < 1 || !is_small(length, parts, out[2], out[3])) return kNone;
    const int64_t results = out[2].constant() * out[3].constant();
    const Tensor rows = matrix_of(stft_def, known, node_.attributes, length, parts, results);
    // Columns of a frame lie place by place, those of a window channel by channel.
    Tensor windows(DType::f32, {results, parts, length});
    const std::span<const float> from = rows.as<float>();
    const std::span<float> to = windows.mutable_as<float>();
    for (int64_t j = 0; j < results; ++j)
      for (int64_t c = 0; c < parts; ++c)
        for (int64_t t = 0; t < length; ++t)
          to[static_cast<size_t>((j * parts + c) * length + t)] =
              from[static_cast<size_t>((j * length + t) * parts + c)];
    ValueId y = ops::transpose(g_, {.x = signal(), .perm = std::vector<int64_t>{0, 2, 1}});
    y = ops::conv(g_, {.x = y, .w = constant(std::move(windows)), .strides = std::vector<int64_t>{step}});
    y = ops::transpose(g_, {.x = y, .perm = std::vector<int64_t>{0, 2, 1}});
    return ops::reshape(g_, {.x = y, .shape = out});
  }

  Graph& g_;
  const NodeId id_;
  const Node node_;
};

Graph expand_fourier(Graph graph, const PassContext&) {
  for (const OpDef* op : {&dft_def, &stft_def})
    for (NodeId id : graph.nodes(*op)) Expansion(graph, id).run();
  return graph;
}

}  // namespace

extern constinit const PassDef expand_fourier_def{
    .name = "expand_fourier",
    .doc = "dft and stft of known lengths → products with a constant matrix, or convolutions.",
    .run = expand_fourier};

}  // namespace hone
