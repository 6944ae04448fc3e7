#include "passes/match.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/full.h"

namespace hone {

NodeId produced_by(const Graph& graph, ValueId id, const OpDef& op) {
  return graph.producer_op(id) == &op ? graph.producer(id) : kNone;
}

std::optional<double> uniform_value(const Graph& graph, ValueId id) {
  if (const NodeId full = produced_by(graph, id, full_def); full != kNone)
    return graph.node(full).attributes.get<double>("value");
  const Tensor* constant = graph.constant(id);
  if (!constant || constant->is_packed() || constant->dtype() == DType::string || constant->elements() == 0)
    return std::nullopt;
  const std::optional<Buffer::Source> source = constant->data().source();  // equal elements are so in any order
  const std::span<const std::byte> bytes = source ? source->bytes : constant->data().bytes();
  const auto item = static_cast<size_t>(size_bytes(constant->dtype()));
  // Equal elements: every byte equals the one an element earlier.
  if (std::memcmp(bytes.data(), bytes.data() + item, bytes.size() - item) != 0) return std::nullopt;
  const Tensor first(constant->dtype(), {}, Buffer::copy_of(bytes.first(item)));
  return first.to_doubles()[0];
}

bool close(double a, double b) { return std::abs(a - b) <= 1e-4 * std::abs(b); }

std::optional<WithNumber> with_number(const Graph& graph, NodeId node) {
  if (node == kNone || graph.node(node).operands.size() != 2) return std::nullopt;
  for (int i : {1, 0}) {
    const ValueId value = graph.operand(node, 1 - i), number = graph.operand(node, i);
    if (value == kNone || number == kNone || graph.type(value) != graph.type(graph.result(node))) continue;
    if (const std::optional<double> found = uniform_value(graph, number)) return WithNumber{value, *found, i == 0};
  }
  return std::nullopt;
}

namespace {

constexpr int kMaxDepth = 8;  // deeper products are none of the forms that are looked for

// One mul or div by a number.
std::optional<Scaled> scaled_once(const Graph& graph, ValueId id) {
  const NodeId mul = produced_by(graph, id, mul_def), div = produced_by(graph, id, div_def);
  if (!is_float(graph.type(id).dtype)) return std::nullopt;
  if (const auto found = with_number(graph, mul)) return Scaled{found->value, found->number};
  if (const auto found = with_number(graph, div); found && !found->reversed && found->number != 0)
    return Scaled{found->value, 1 / found->number};
  return std::nullopt;
}

void collect_factors(const Graph& graph, ValueId id, ValueId stop, int depth, Product& product) {
  if (id != stop && depth < kMaxDepth) {
    if (const std::optional<Scaled> scaled = scaled_once(graph, id)) {
      product.factor *= scaled->factor;
      return collect_factors(graph, scaled->value, stop, depth + 1, product);
    }
    if (const NodeId mul = produced_by(graph, id, mul_def); mul != kNone) {
      collect_factors(graph, graph.operand(mul, 0), stop, depth + 1, product);
      return collect_factors(graph, graph.operand(mul, 1), stop, depth + 1, product);
    }
  }
  product.values.push_back(id);
}

}  // namespace

Scaled peel_scale(const Graph& graph, ValueId id) {
  Scaled total{id, 1};
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    const std::optional<Scaled> scaled = scaled_once(graph, total.value);
    if (!scaled) break;
    total = {scaled->value, total.factor * scaled->factor};
  }
  return total;
}

Product flatten_product(const Graph& graph, ValueId id, ValueId stop) {
  Product product;
  collect_factors(graph, id, stop, 0, product);
  return product;
}

ValueId operand_beside(const Graph& graph, NodeId node, ValueId known) {
  if (graph.operand(node, 0) == known) return graph.operand(node, 1);
  return graph.operand(node, 1) == known ? graph.operand(node, 0) : kNone;
}

bool reduces_last_axis(const Graph& graph, NodeId node) {
  const Attributes& attributes = graph.node(node).attributes;
  if (!attributes.has("axes") || attributes.get_or<int64_t>("keepdims", 1) != 1) return false;
  const auto& axes = attributes.get<std::vector<int64_t>>("axes");
  const TensorType& type = graph.type(graph.operand(node, 0));
  const auto rank = static_cast<int64_t>(type.rank());
  return type.ranked && axes.size() == 1 && (axes[0] == -1 || axes[0] == rank - 1);
}

NodeId replace_node(Graph& graph, NodeId old, Call call) {
  const char* const op = call.op->name;
  graph.set_insertion_point(old);
  const NodeId node = graph.add_node(std::move(call));
  const std::vector<ValueId> from = graph.node(old).results, to = graph.node(node).results;
  CHECK(from.size() == to.size());
  std::vector<std::string> names;
  for (size_t i = 0; i < from.size(); ++i) {
    CHECK(may_be_same(graph.type(from[i]), graph.type(to[i])), "{} is replaced by {} of type {}",
          graph.value(from[i]).name, op, to_string(graph.type(to[i])));
    graph.replace_all_uses(from[i], to[i]);
    names.push_back(graph.value(from[i]).name);
  }
  graph.erase(old);
  for (size_t i = 0; i < to.size(); ++i) graph.rename(to[i], names[i]);
  graph.set_insertion_point(kNone);
  return node;
}

void replace_by_value(Graph& graph, NodeId old, ValueId value) {
  graph.replace_all_uses(graph.result(old), value);
  graph.erase(old);
}

std::string derived_label(Graph& graph, ValueId source, std::string_view suffix) {
  const std::string label = graph.value(source).label;
  if (label.empty()) return "";
  if (graph.use_count(source) == 0) {
    graph.set_label(source, "");
    return label;
  }
  const auto numbered = [&](int64_t i) {
    return fmt::format("{}{}{}", label, suffix, i == 1 ? "" : std::to_string(i));
  };
  const auto taken = [&](int64_t i) { return graph.find_constant(numbered(i)) != kNone; };
  if (!taken(1)) return numbered(1);
  // Numbers are given out one after the other: between a taken one and a free one is a free one behind a taken one.
  int64_t low = 1, high = 2;
  while (taken(high)) low = high, high *= 2;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (taken(middle) ? low : high) = middle;
  }
  return numbered(high);
}

}  // namespace hone
