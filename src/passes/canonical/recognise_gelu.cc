// GELU spelled in primitives, whatever the order of its factors:
//   erf form    x * 0.5 * (1 + erf(x / sqrt(2)))
//   tanh form   x * 0.5 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))), also with x * (1 + 0.044715 x^2) inside
#include <algorithm>
#include <numbers>

#include "ops/calls/activations.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/transcendental.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

constexpr double kCubic = 0.044715;  // Hendrycks and Gimpel, "Gaussian error linear units" (2016)

bool is_power(const Graph& graph, ValueId id, ValueId x, int exponent, double factor) {
  const Product product = flatten_product(graph, id, x);
  if (!close(product.factor, factor)) return false;
  if (product.values.size() == 1) {
    const NodeId pow = produced_by(graph, product.values[0], pow_def);
    const auto found = with_number(graph, pow);
    return found && !found->reversed && found->value == x && found->number == exponent;
  }
  return static_cast<int>(product.values.size()) == exponent &&
         std::all_of(product.values.begin(), product.values.end(), [&](ValueId v) { return v == x; });
}

// x + 0.044715 x^3, or 1 + 0.044715 x^2 where not cubic.
bool is_polynomial(const Graph& graph, ValueId id, ValueId x, bool cubic) {
  const NodeId add = produced_by(graph, id, add_def);
  if (add == kNone) return false;
  for (int i : {0, 1}) {
    const ValueId first = graph.operand(add, i), second = graph.operand(add, 1 - i);
    const bool starts = cubic ? first == x : uniform_value(graph, first) == 1.0;
    if (starts && is_power(graph, second, x, cubic ? 3 : 2, kCubic)) return true;
  }
  return false;
}

bool is_tanh_argument(const Graph& graph, ValueId id, ValueId x) {
  const Product product = flatten_product(graph, id, x);
  if (!close(product.factor, std::numbers::sqrt2 * std::numbers::inv_sqrtpi)) return false;
  if (product.values.size() == 1) return is_polynomial(graph, product.values[0], x, true);
  if (product.values.size() != 2) return false;
  for (size_t i : {size_t{0}, size_t{1}})
    if (product.values[i] == x && is_polynomial(graph, product.values[1 - i], x, false)) return true;
  return false;
}

bool is_erf_argument(const Graph& graph, ValueId id, ValueId x) {
  const Product product = flatten_product(graph, id, x);
  return product.values == std::vector<ValueId>{x} && close(product.factor, 1 / std::numbers::sqrt2);
}

// Values that x could be: everything that is reached from the argument through a few mul, div, add and pow.
void collect_candidates(const Graph& graph, ValueId id, int depth, std::vector<ValueId>& candidates) {
  if (id == kNone || graph.constant(id)) return;
  if (std::find(candidates.begin(), candidates.end(), id) == candidates.end()) candidates.push_back(id);
  const OpDef* op = graph.producer_op(id);
  if (!op || depth == 0) return;
  if (op != &mul_def && op != &div_def && op != &add_def && op != &pow_def) return;
  for (ValueId operand : graph.node(graph.producer(id)).operands)
    collect_candidates(graph, operand, depth - 1, candidates);
}

// The value's only user, when it has one.
NodeId only_user(const Graph& graph, ValueId id) {
  const std::vector<Graph::Use> uses = graph.uses(id);
  return uses.size() == 1 && graph.use_count(id) == 1 ? uses[0].node : kNone;
}

// From 1 + erf(...) up through the products it is part of, to the one that is x * 0.5 * (1 + erf(...)).
NodeId find_root(const Graph& graph, ValueId bracket, ValueId x) {
  ValueId top = bracket;
  for (int step = 0; step < 4; ++step) {
    const NodeId user = only_user(graph, top);
    if (user == kNone) return kNone;
    const OpDef* const op = graph.node(user).op;
    if (op != &mul_def && op != &div_def) return kNone;
    top = graph.result(user);
    Product product = flatten_product(graph, top, x);
    std::sort(product.values.begin(), product.values.end());
    if (product.values == std::vector<ValueId>{std::min(x, bracket), std::max(x, bracket)} &&
        close(product.factor, 0.5))
      return graph.type(top) == graph.type(x) ? user : kNone;
  }
  return kNone;
}

void recognise(Graph& graph, NodeId curve, bool is_tanh) {
  const NodeId add = only_user(graph, graph.result(curve));
  if (add == kNone || graph.node(add).op != &add_def) return;
  const auto bracket = with_number(graph, add);
  if (!bracket || bracket->number != 1) return;
  const ValueId argument = graph.operand(curve, 0);
  std::vector<ValueId> candidates;
  collect_candidates(graph, argument, 5, candidates);
  for (ValueId x : candidates) {
    if (!(is_tanh ? is_tanh_argument(graph, argument, x) : is_erf_argument(graph, argument, x))) continue;
    const NodeId root = find_root(graph, graph.result(add), x);
    if (root == kNone) continue;
    using Approximation = std::optional<std::string>;
    replace_node(graph, root, ops::Gelu{.x = x, .approximate = is_tanh ? Approximation("tanh") : std::nullopt});
    return;
  }
}

Graph recognise_gelu(Graph graph, const PassContext&) {
  for (NodeId id : graph.nodes(erf_def)) recognise(graph, id, false);
  for (NodeId id : graph.nodes(tanh_def)) recognise(graph, id, true);
  return graph;
}

}  // namespace

extern constinit const PassDef recognise_gelu_def{
    .name = "recognise_gelu",
    .doc = "x * 0.5 * (1 + erf(x / sqrt 2)) and its tanh approximation, spelled in primitives, become gelu.",
    .run = recognise_gelu};

}  // namespace hone
