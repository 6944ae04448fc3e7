#include "passes/compress/lora.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/nearest_part.h"
#include "base/philox.h"
#include "base/regex.h"
#include "base/stop.h"
#include "base/text.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/conv.h"
#include "ops/calls/gather.h"
#include "ops/calls/linear.h"
#include "ops/calls/reduce.h"
#include "ops/calls/transcendental.h"
#include "ops/calls/transpose.h"
#include "ops/conv_weights.h"
#include "passes/layer.h"
#include "passes/match.h"

namespace hone {
namespace {

using Strings = std::vector<std::string>;

constexpr std::string_view kLinearA = ".lora_A.weight", kLinearB = ".lora_B.weight", kTableA = ".lora_embedding_A",
                           kTableB = ".lora_embedding_B", kMagnitude = ".lora_magnitude_vector";
constexpr int64_t kMostRank = 65536;
constexpr const char* kLayout = "channels_last";

bool is_table(const OpDef* op) { return op == &gather_def; }
int weight_operand(const OpDef* op) { return is_table(op) ? 0 : 1; }

std::string label_a(const OpDef* op, const std::string& layer) {
  return layer + std::string(is_table(op) ? kTableA : kLinearA);
}
std::string label_b(const OpDef* op, const std::string& layer) {
  return layer + std::string(is_table(op) ? kTableB : kLinearB);
}

// Of the weight as the op's definition reads it: of a packed conv, not of its matrix.
std::vector<int64_t> weight_shape(const Graph& graph, NodeId node) {
  const Node& n = graph.node(node);
  const std::vector<int64_t>& shape = graph.constant(n.operands[static_cast<size_t>(weight_operand(n.op))])->shape();
  return n.op == &conv_def ? constant_shape(conv_weight_shape(n.attributes, to_shape(shape))) : shape;
}

bool is_adaptable(const Graph& graph, const Node& node) {
  const bool known = node.op == &linear_def || node.op == &conv_def || node.op == &gather_def;
  if (!known) return false;
  const ValueId weight = node.operands[static_cast<size_t>(weight_operand(node.op))];
  const Tensor* tensor = graph.constant(weight);
  if (!tensor || graph.value(weight).label.empty() || !(tensor->is_packed() || is_float(tensor->dtype()))) return false;
  if (graph.type(node.results[0]).dtype != DType::f32) return false;
  if (node.op == &gather_def) return tensor->shape().size() == 2 && node.attributes.get_or<int64_t>("axis", 0) == 0;
  return graph.constant(node.operands[0]) == nullptr;
}

// An entry of `rule` or `skip`.
class LayerPattern {
 public:
  explicit LayerPattern(const std::string& text) : text_(text) {
    if (text.starts_with("op:")) op_ = text.substr(3);
    else try {
        regex_.emplace(text);
      } catch (const Error& error) {
        fail("rule \"{}\": {}", text, error.what());
      }
  }
  bool matches(const AdaptableLayer& layer) const {
    return regex_ ? regex_->search(layer.label) : op_ == layer.op->name;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_, op_;
  std::optional<Regex> regex_;
};

[[noreturn]] void refuse_unmatched(const LayerPattern& rule, const std::vector<AdaptableLayer>& layers) {
  Strings names;
  for (const AdaptableLayer& layer : layers) names.push_back(layer.label);
  if (names.empty())
    fail("the model has no layer that adapters stand beside: no linear, conv or table whose weight has a name");
  std::string nearest = did_you_mean(rule.text(), names);
  if (nearest.empty()) nearest = did_you_mean_part(rule.text(), names);
  fail("rule \"{}\" matches no layer{}", rule.text(),
       nearest.empty() ? fmt::format("; there are {}, e.g. {}; op:linear, op:conv and op:gather are all of one kind",
                                     names.size(), names[0])
                       : nearest);
}

Tensor random_uniform(uint64_t seed, const std::string& label, const std::vector<int64_t>& shape) {
  Philox random(seed, hash_text(label));
  Tensor tensor(DType::f32, shape);
  const auto limit =
      static_cast<float>(1 / std::sqrt(std::max(1.0, static_cast<double>(tensor.elements() / shape[0]))));
  for (float& v : tensor.mutable_as<float>()) v = random.uniform(-limit, limit);
  return tensor;
}

Tensor random_normal(uint64_t seed, const std::string& label, const std::vector<int64_t>& shape) {
  Philox random(seed, hash_text(label));
  Tensor tensor(DType::f32, shape);
  for (float& v : tensor.mutable_as<float>()) v = random.normal();
  return tensor;
}

std::vector<double> squares_of_rows(const Tensor& weight) {
  const std::vector<double> values = weight.to_doubles();
  const auto rows = static_cast<size_t>(weight.dim(0)), columns = values.size() / rows;
  std::vector<double> squares(rows);
  for (size_t i = 0; i < values.size(); ++i) squares[i / columns] += values[i] * values[i];
  return squares;
}

AdapterTensors new_adapter(const Graph& graph, const AdaptableLayer& layer, const LoraOptions& options) {
  const int64_t rank = options.rank;
  const auto seed = static_cast<uint64_t>(options.seed);
  const std::vector<int64_t> shape = weight_shape(graph, layer.nodes[0]);
  const double alpha = options.alpha == 0 ? static_cast<double>(rank) : options.alpha,
               divisor = options.rslora ? std::sqrt(static_cast<double>(rank)) : static_cast<double>(rank);
  AdapterTensors made{.layer = layer.name, .scaling = alpha / divisor, .is_table = is_table(layer.op)};
  if (is_table(layer.op)) {
    made.a = Tensor(DType::f32, {shape[0], rank});
    made.b = random_normal(seed, label_b(layer.op, layer.name), {shape[1], rank});
  } else {
    std::vector<int64_t> a = shape, b(shape.size(), 1);
    a[0] = b[1] = rank;
    b[0] = shape[0];
    made.a = random_uniform(seed, label_a(layer.op, layer.name), a);
    made.b = Tensor(DType::f32, b);
  }
  if (!options.dora) return made;
  if (layer.op != &linear_def)
    fail(
        "{}: dora is of linear layers, and this is a {}: the length of each row of W + B A would be summed anew in "
        "each "
        "step, of convolutions over all taps and of tables over all rows, read or not. Leave it out of the rules",
        layer.label, layer.op->name);
  std::vector<double> lengths = squares_of_rows(*graph.constant(layer.weight));
  // As the graph computes them, so that the factor of a new adapter is 1.
  for (double& length : lengths) length = std::sqrt(static_cast<float>(length));
  if (std::ranges::any_of(lengths, [](double length) { return length == 0; }))
    fail("{}: a row of zeros has no direction, which dora needs; leave the layer out of the rules", layer.label);
  made.magnitude = Tensor::from_doubles(DType::f32, {shape[0]}, lengths);
  return made;
}

// What is wrong with the adapter for the layer; "" where it fits.
std::string misfit(const Graph& graph, const AdaptableLayer& layer, const AdapterTensors& adapter) {
  const std::vector<int64_t> shape = weight_shape(graph, layer.nodes[0]);
  const int64_t rank = adapter.a.shape().empty() ? 0 : adapter.a.dim(is_table(layer.op) ? -1 : 0);
  std::vector<int64_t> a = shape, b(shape.size(), 1);
  if (is_table(layer.op)) {
    a = {shape[0], rank}, b = {shape[1], rank};
  } else {
    a[0] = b[1] = rank;
    b[0] = shape[0];
  }
  const auto text = [](const std::vector<int64_t>& s) { return fmt::format("[{}]", fmt::join(s, ",")); };
  if (rank < 1) return "has rank 0";
  if (adapter.is_table != is_table(layer.op))
    return fmt::format("is of a {}; the layer is a {}", adapter.is_table ? "table" : "product", layer.op->name);
  if (adapter.a.shape() != a || adapter.b.shape() != b)
    return fmt::format("A is {} and B {}; the layer's weight {} takes {} and {}", text(adapter.a.shape()),
                       text(adapter.b.shape()), text(shape), text(a), text(b));
  if (adapter.magnitude && layer.op != &linear_def)
    return fmt::format("DoRA of a {}: only linears have it", layer.op->name);
  if (adapter.magnitude && adapter.magnitude->shape() != std::vector<int64_t>{shape[0]})
    return fmt::format("the magnitudes are {}; the layer has {} outputs", text(adapter.magnitude->shape()), shape[0]);
  return "";
}

// Adds the adapter beside each node of one layer.
class Attacher {
 public:
  Attacher(Graph& graph, const AdaptableLayer& layer, const AdapterTensors& adapter)
      : graph_(graph), layer_(layer), adapter_(adapter) {
    a_ = graph.add_constant(label_a(layer.op, layer.name), adapter.a);
    b_ = graph.add_constant(label_b(layer.op, layer.name), adapter.b);
    if (!adapter.magnitude) return;
    magnitude_ = graph.add_constant(layer.name + std::string(kMagnitude), *adapter.magnitude);
    squares_ = graph.add_constant("", Tensor::from_doubles(DType::f32, adapter.magnitude->shape(),
                                                           squares_of_rows(*graph.constant(layer.weight))));
  }

  void attach(NodeId id) {
    const auto place = std::ranges::find(graph_.nodes(), id) + 1;
    const size_t first = graph_.node_capacity();
    const ValueId plain = graph_.result(id);
    graph_.set_insertion_point(place == graph_.nodes().end() ? kNone : *place);
    ValueId change = product(graph_.node(id));
    if (const auto scaling = static_cast<float>(adapter_.scaling); scaling != 1)
      change = ops::mul(graph_, {.a = change, .b = graph_.add_scalar(scaling)});
    const ValueId sum = magnitude_ == kNone ? ops::add(graph_, {.a = plain, .b = change}) : of_length(id, change);
    graph_.set_insertion_point(kNone);
    graph_.replace_all_uses(plain, sum);
    for (auto n = static_cast<NodeId>(first); n < static_cast<NodeId>(graph_.node_capacity()); ++n)
      for (size_t i = 0; i < graph_.node(n).operands.size(); ++i)
        if (graph_.operand(n, static_cast<int>(i)) == sum) graph_.set_operand(n, static_cast<int>(i), plain);
  }

 private:
  ValueId product(const Node& node) {
    if (is_table(node.op))
      return ops::linear(graph_, {.x = ops::gather(graph_, {.table = a_, .indices = node.operands[1]}), .w = b_});
    if (node.op == &linear_def)
      return ops::linear(graph_, {.x = ops::linear(graph_, {.x = node.operands[0], .w = a_}), .w = b_});
    Attributes window = node.attributes, point;
    window.erase("kernel_shape");
    if (window.has(kLayout)) point.set(kLayout, window.get<int64_t>(kLayout));
    const ValueId inner = graph_.emit(conv_def, {node.operands[0], a_}, window);
    return graph_.emit(conv_def, {inner, b_}, point);
  }

  // plain + (factor - 1) (plain - bias) + factor · change: nothing moves while the factor is 1.
  ValueId of_length(NodeId id, ValueId change) {
    const Node node = graph_.node(id);
    const ValueId plain = node.results[0], f = factor(node.operands[1]), one = graph_.add_scalar(1.0f);
    const bool has_bias = node.operands.size() > 2 && node.operands[2] != kNone;
    const ValueId base = has_bias ? ops::sub(graph_, {.a = plain, .b = node.operands[2]}) : plain;
    const ValueId more = ops::mul(graph_, {.a = base, .b = ops::sub(graph_, {.a = f, .b = one})});
    const ValueId longer = ops::add(graph_, {.a = plain, .b = more});
    return ops::add(graph_, {.a = longer, .b = ops::mul(graph_, {.a = change, .b = f})});
  }

  // m / |W + s B A| by rows: |W|² + the sum over r of B ∘ (2 s W Aᵀ + s² B A Aᵀ).
  ValueId factor(ValueId weight) {
    const ValueId cross =
        ops::transpose(graph_, {.x = ops::linear(graph_, {.x = a_, .w = weight}), .perm = std::vector<int64_t>{1, 0}});
    const ValueId square = ops::linear(graph_, {.x = b_, .w = ops::linear(graph_, {.x = a_, .w = a_})});
    const ValueId twice = graph_.add_scalar(static_cast<float>(2 * adapter_.scaling)),
                  squared = graph_.add_scalar(static_cast<float>(adapter_.scaling * adapter_.scaling));
    const ValueId inner = ops::add(
        graph_, {.a = ops::mul(graph_, {.a = cross, .b = twice}), .b = ops::mul(graph_, {.a = square, .b = squared})});
    const ValueId grown = ops::reduce_sum(
        graph_, {.x = ops::mul(graph_, {.a = b_, .b = inner}), .axes = std::vector<int64_t>{1}, .keepdims = 0});
    const ValueId length = ops::sqrt(graph_, {ops::add(graph_, {.a = squares_, .b = grown})});
    return ops::div(graph_, {.a = magnitude_, .b = length});
  }

  Graph& graph_;
  const AdaptableLayer& layer_;
  const AdapterTensors& adapter_;
  ValueId a_ = kNone, b_ = kNone, magnitude_ = kNone, squares_ = kNone;
};

[[noreturn]] void refuse_structure(const std::string& layer) {
  fail(
      "{}: its adapter's nodes are not those that hone puts there (other passes may have changed them); fuse or export "
      "the file that hone train, hone lora insert or hone lora import wrote",
      layer);
}

NodeId only_user(const Graph& graph, ValueId value) {
  const std::vector<Graph::Use> uses = graph.uses(value);
  return uses.size() == 1 && graph.use_count(value) == 1 ? uses[0].node : kNone;
}

// Follows A's result to what stands for the layer's.
Adapter::Site site_at(const Graph& graph, Adapter& adapter, NodeId node) {
  const auto expect = [&](bool fits) {
    if (!fits) refuse_structure(adapter.layer);
  };
  const NodeId up = only_user(graph, graph.result(node));
  expect(up != kNone && graph.node(up).operands.size() > 1 && graph.operand(up, 1) == adapter.b);
  NodeId next = only_user(graph, graph.result(up));
  expect(next != kNone);
  adapter.scaling = 1;
  ValueId change = graph.result(up);
  if (graph.node(next).op == &mul_def)
    if (const auto found = with_number(graph, next)) {
      adapter.scaling = found->number;
      change = graph.result(next);
      next = only_user(graph, change);
      expect(next != kNone);
    }
  if (adapter.magnitude != kNone) {
    expect(graph.node(next).op == &mul_def);
    change = graph.result(next);
    next = only_user(graph, change);
    expect(next != kNone);
  }
  expect(graph.node(next).op == &add_def);
  ValueId plain = operand_beside(graph, next, change);
  const auto reads_weight = [&](ValueId value) {
    const NodeId layer = graph.producer(value);
    if (layer == kNone || !is_adaptable(graph, graph.node(layer))) return false;
    return graph.operand(layer, weight_operand(graph.node(layer).op)) == adapter.weight;
  };
  const ValueId sum = graph.result(next);
  if (adapter.magnitude != kNone) {
    const NodeId inner = plain == kNone ? kNone : graph.producer(plain);
    expect(inner != kNone && graph.node(inner).op == &add_def);
    plain = reads_weight(graph.operand(inner, 0)) ? graph.operand(inner, 0) : graph.operand(inner, 1);
  }
  expect(plain != kNone && reads_weight(plain));
  const Node &base = graph.node(graph.producer(plain)), &inner = graph.node(node), &outer = graph.node(up);
  expect(inner.op == base.op && outer.op == (base.op == &conv_def ? &conv_def : &linear_def));
  Attributes window = base.attributes, point;
  window.erase("kernel_shape");
  if (window.has(kLayout)) point.set(kLayout, window.get<int64_t>(kLayout));
  if (base.op == &conv_def) expect(inner.attributes.same(window) && outer.attributes.same(point));
  return {.layer = graph.producer(plain), .plain = plain, .sum = sum};
}

Adapter adapter_at(const Graph& graph, ValueId a, std::string_view suffix, std::string_view suffix_b) {
  Adapter adapter{.layer = graph.value(a).label.substr(0, graph.value(a).label.size() - suffix.size()), .a = a};
  adapter.b = graph.find_constant(adapter.layer + std::string(suffix_b));
  adapter.magnitude = graph.find_constant(adapter.layer + std::string(kMagnitude));
  adapter.weight = graph.find_constant(adapter.layer + ".weight");
  if (adapter.weight == kNone) adapter.weight = graph.find_constant(adapter.layer);
  if (adapter.b == kNone || adapter.weight == kNone) refuse_structure(adapter.layer);
  for (const Graph::Use& use : graph.uses(a)) {
    const Node& node = graph.node(use.node);
    const bool reads = node.op == &gather_def ? use.operand == 0 : use.operand == 1 && node.operands[0] != a;
    if (reads) adapter.sites.push_back(site_at(graph, adapter, use.node));
  }
  if (adapter.sites.empty()) refuse_structure(adapter.layer);
  const NodeId site = adapter.sites[0].layer;
  const OpDef* op = graph.node(site).op;
  AdapterTensors tensors{
      .layer = adapter.layer, .a = *graph.constant(a), .b = *graph.constant(adapter.b), .is_table = is_table(op)};
  if (adapter.magnitude != kNone) tensors.magnitude = *graph.constant(adapter.magnitude);
  const AdaptableLayer layer{adapter.layer, graph.value(adapter.weight).label, adapter.weight, op, {site}};
  if (!misfit(graph, layer, tensors).empty()) refuse_structure(adapter.layer);
  return adapter;
}

}  // namespace

double lora_dropout(const Graph& graph) {
  const auto found = graph.metadata.find(kLoraDropout);
  if (found == graph.metadata.end()) return 0;
  double rate = 0;
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
  if (error != std::errc() || end != text.data() + text.size() || !(rate >= 0 && rate < 1))
    fail("the model's {} is \"{}\"; expected a number from 0 to below 1", kLoraDropout, text);
  return rate;
}

bool has_adapters(const Graph& graph) {
  static const Regex names(kAdapterNames);
  return std::ranges::any_of(graph.constants(), [&](ValueId id) { return names.search(graph.value(id).label); });
}

std::vector<ValueId> dora_lengths(const Graph& graph) {
  std::vector<ValueId> lengths;
  for (NodeId id : graph.nodes(div_def)) {
    const std::string& label = graph.value(graph.operand(id, 0)).label;
    if (label.ends_with(kMagnitude)) lengths.push_back(graph.operand(id, 1));
  }
  return lengths;
}

std::vector<Adapter> adapters_of(const Graph& graph) {
  std::vector<Adapter> found;
  for (ValueId id : graph.constants()) {
    const std::string& label = graph.value(id).label;
    if (label.ends_with(kLinearA)) found.push_back(adapter_at(graph, id, kLinearA, kLinearB));
    else if (label.ends_with(kTableA)) found.push_back(adapter_at(graph, id, kTableA, kTableB));
  }
  return found;
}

std::vector<AdaptableLayer> adaptable_layers(const Graph& graph) {
  std::vector<AdaptableLayer> layers;
  for (NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (!is_adaptable(graph, node)) continue;
    const ValueId weight = node.operands[static_cast<size_t>(weight_operand(node.op))];
    const auto found = std::ranges::find_if(
        layers, [&](const AdaptableLayer& layer) { return layer.weight == weight && layer.op == node.op; });
    if (found != layers.end()) {
      found->nodes.push_back(id);
      continue;
    }
    const std::string& label = graph.value(weight).label;
    layers.push_back({layer_name(label), label, weight, node.op, {id}});
  }
  return layers;
}

std::vector<AdapterTensors> new_adapters(const Graph& graph, const LoraOptions& options) {
  if (options.rank < 1 || options.rank > kMostRank) fail("rank is {}; accepted: 1 to {}", options.rank, kMostRank);
  if (!(options.alpha >= 0) || !std::isfinite(options.alpha)) fail("alpha is {}; accepted: 0 and above", options.alpha);
  if (!(options.dropout >= 0 && options.dropout < 1)) fail("dropout is {}; accepted: 0 to below 1", options.dropout);
  if (options.rule.empty()) fail("no rule says which layers get adapters; e.g. op:linear, or query|value");
  const std::vector<LayerPattern> rules(options.rule.begin(), options.rule.end()),
      skips(options.skip.begin(), options.skip.end());
  const std::vector<AdaptableLayer> layers = adaptable_layers(graph);
  std::vector<bool> used(rules.size(), false);
  std::vector<AdapterTensors> made;
  for (const AdaptableLayer& layer : layers) {
    check_stop();
    bool wanted = false;
    for (size_t i = 0; i < rules.size(); ++i)
      if (rules[i].matches(layer)) wanted = used[i] = true;
    if (!wanted || std::ranges::any_of(skips, [&](const LayerPattern& skip) { return skip.matches(layer); })) continue;
    if (const auto groups = graph.node(layer.nodes[0]).attributes.get_or<int64_t>("groups", 1); groups != 1)
      fail("{}: a conv of {} groups has no adapter; leave it out of the rules", layer.label, groups);
    made.push_back(new_adapter(graph, layer, options));
  }
  for (size_t i = 0; i < rules.size(); ++i)
    if (!used[i]) refuse_unmatched(rules[i], layers);
  if (made.empty())
    fail("no layer is left for adapters: the rules match only what is skipped ({})", fmt::join(options.skip, ", "));
  return made;
}

Graph attach_adapters(Graph graph, std::span<const AdapterTensors> adapters) {
  if (has_adapters(graph))
    fail("the model has adapters already; fuse them first (hone lora fuse), or train them on (hone train)");
  const std::vector<AdaptableLayer> layers = adaptable_layers(graph);
  Strings names;
  for (const AdaptableLayer& layer : layers) names.push_back(layer.name);
  std::vector<const AdaptableLayer*> of(adapters.size());
  Strings wrong;
  for (size_t i = 0; i < adapters.size(); ++i) {
    const auto found = std::ranges::find_if(layers, [&](const AdaptableLayer& layer) {
      return layer.name == adapters[i].layer && misfit(graph, layer, adapters[i]).empty();
    });
    if (found != layers.end()) {
      of[i] = &*found;
      continue;
    }
    const auto called = std::ranges::find(layers, adapters[i].layer, &AdaptableLayer::name);
    wrong.push_back(adapters[i].layer + ": " +
                    (called == layers.end() ? "the model has no such layer" + did_you_mean(adapters[i].layer, names)
                                            : misfit(graph, *called, adapters[i])));
  }
  constexpr size_t kMostListed = 10;
  if (!wrong.empty()) {
    const size_t all = wrong.size();
    if (all > kMostListed) wrong.resize(kMostListed), wrong.push_back(fmt::format("and {} more", all - kMostListed));
    fail("{} of {} adapters do not fit the model:\n  {}", all, adapters.size(), fmt::join(wrong, "\n  "));
  }
  for (size_t i = 0; i < adapters.size(); ++i) {
    Attacher attacher(graph, *of[i], adapters[i]);
    for (NodeId node : of[i]->nodes) attacher.attach(node);
  }
  return graph;
}

namespace {

// scaling · B A added to `values`, which are of that shape.
void add_product(const Graph& graph, const Adapter& adapter, std::vector<double>& values) {
  const bool table = graph.node(adapter.sites[0].layer).op == &gather_def;
  const std::vector<double> a = graph.constant(adapter.a)->to_doubles(), b = graph.constant(adapter.b)->to_doubles();
  const int64_t rank = graph.constant(adapter.b)->dim(1);
  if (table) {  // [V,r] · [D,r]ᵀ
    const int64_t rows = graph.constant(adapter.a)->dim(0), columns = graph.constant(adapter.b)->dim(0);
    for (int64_t v = 0; v < rows; ++v)
      for (int64_t d = 0; d < columns; ++d) {
        double sum = 0;
        for (int64_t r = 0; r < rank; ++r)
          sum += a[static_cast<size_t>(v * rank + r)] * b[static_cast<size_t>(d * rank + r)];
        values[static_cast<size_t>(v * columns + d)] += adapter.scaling * sum;
      }
    return;
  }
  const auto row = static_cast<int64_t>(a.size()) / rank, rows = graph.constant(adapter.b)->dim(0);
  std::vector<double> sums(static_cast<size_t>(row));
  for (int64_t n = 0; n < rows; ++n) {
    check_stop();
    std::ranges::fill(sums, 0.0);
    for (int64_t r = 0; r < rank; ++r)
      for (int64_t k = 0; k < row; ++k)
        sums[static_cast<size_t>(k)] += b[static_cast<size_t>(n * rank + r)] * a[static_cast<size_t>(r * row + k)];
    for (int64_t k = 0; k < row; ++k)
      values[static_cast<size_t>(n * row + k)] += adapter.scaling * sums[static_cast<size_t>(k)];
  }
}

// The weight as the layer's definition reads it.
Tensor definition_weight(const Graph& graph, const Adapter& adapter) {
  const Node& node = graph.node(adapter.sites[0].layer);
  const Tensor& weight = *graph.constant(adapter.weight);
  return node.op == &conv_def && weight.shape().size() == 2 ? conv_weights(node.attributes, weight) : weight;
}

}  // namespace

Tensor fused_weight(const Graph& graph, const Adapter& adapter) {
  const Tensor weight = definition_weight(graph, adapter);
  std::vector<double> values = weight.to_doubles();
  add_product(graph, adapter, values);
  if (adapter.magnitude != kNone) {
    const std::vector<double> lengths = graph.constant(adapter.magnitude)->to_doubles();
    const size_t columns = values.size() / lengths.size();
    for (size_t n = 0; n < lengths.size(); ++n) {
      double square = 0;
      for (size_t k = 0; k < columns; ++k) square += values[n * columns + k] * values[n * columns + k];
      for (size_t k = 0; k < columns; ++k) values[n * columns + k] *= lengths[n] / std::sqrt(square);
    }
  }
  return Tensor::from_doubles(DType::f32, weight.shape(), values);
}

Tensor weight_change(const Graph& graph, const Adapter& adapter) {
  const Tensor weight = definition_weight(graph, adapter);
  std::vector<double> values(static_cast<size_t>(weight.elements()));
  if (adapter.magnitude == kNone) {
    add_product(graph, adapter, values);
  } else {
    const std::vector<double> before = weight.to_doubles(), after = fused_weight(graph, adapter).to_doubles();
    std::ranges::transform(after, before, values.begin(), std::minus());
  }
  return Tensor::from_doubles(DType::f32, weight.shape(), values);
}

}  // namespace hone
