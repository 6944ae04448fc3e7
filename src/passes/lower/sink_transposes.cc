// Transposes move from the operands of a node to its results wherever they meet their inverse there, or at least become
// no more. What is left of them are changes of layout at the edges of the graph.
#include <algorithm>
#include <map>
#include <set>

#include "base/stop.h"
#include "ir/unbacked.h"
#include "ops/calls/reshape.h"
#include "ops/calls/transpose.h"
#include "ops/evaluate.h"
#include "ops/transposed.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/permutation.h"

namespace hone {
namespace {

bool costs(const Shape& shape, const Permutation& perm) { return !keeps_order(shape, perm); }

int count_transposes(const Graph& graph) {
  int count = 0;
  for (NodeId id : graph.nodes(transpose_def))
    count += !is_permutation(graph, id) || costs(graph.type(graph.operand(id, 0)).shape, permutation_of(graph, id));
  return count;
}

// The op that every path from a node comes to first, through ops that let a transpose pass: its immediate
// post-dominator among them. Nodes are added from the last to the first.
class Meetings {
 public:
  Meetings(const Graph& graph, const std::vector<NodeId>& nodes)
      : graph_(graph), position_(graph.node_capacity()), next_(graph.node_capacity(), kNone) {
    for (size_t i = 0; i < nodes.size(); ++i) position_[static_cast<size_t>(nodes[i])] = i;
  }

  // Whether the uses of a result of the node come together. Those of several results are taken not to.
  bool add(NodeId id, const std::vector<Graph::Use>& uses, bool is_output) {
    NodeId common = is_output || uses.empty() ? kNone : passed(uses[0].node);
    for (const Graph::Use& use : uses) common = meet(common, passed(use.node));
    if (graph_.node(id).results.size() == 1) next_[static_cast<size_t>(id)] = common;
    return common != kNone;
  }

 private:
  NodeId passed(NodeId id) const { return has_transposed(*graph_.node(id).op) ? id : kNone; }

  NodeId meet(NodeId a, NodeId b) const {
    for (int steps = 0; a != b; ++steps) {
      if (a == kNone || b == kNone || steps > kFarthest) return kNone;
      NodeId& earlier = position_[static_cast<size_t>(a)] < position_[static_cast<size_t>(b)] ? a : b;
      earlier = next_[static_cast<size_t>(earlier)];
    }
    return a;
  }

  static constexpr int kFarthest = 1000;  // a place farther away than so many nodes is taken not to be there

  const Graph& graph_;
  std::vector<size_t> position_;
  std::vector<NodeId> next_;
};

class Sinker {
 public:
  explicit Sinker(Graph& graph) : graph_(graph) { look_ahead(); }

  void run() {
    const std::vector<NodeId> nodes(graph_.nodes().begin(), graph_.nodes().end());
    ahead_.insert(nodes.begin(), nodes.end());
    for (NodeId id : nodes) {
      if (ahead_.erase(id) == 0) continue;
      check_stop();
      if (is_permutation(graph_, id)) join(id);
      else if (has_transposed(*graph_.node(id).op)) sink(id);
    }
    for (const auto& [key, made] : moved_constants_)
      graph_.set_label(made, derived_label(graph_, key.first, ".transposed"));
    graph_.erase_unused_constants();
  }

 private:
  // What becomes of a value: a transpose that some use asks for, through ops that let one pass, and whether all uses
  // come together in one such op again.
  struct Future {
    Permutation wanted;
    bool meets = false;
  };
  Future& future(ValueId v) {
    if (futures_.size() < graph_.value_capacity()) futures_.resize(graph_.value_capacity());
    return futures_[static_cast<size_t>(v)];
  }

  void look_ahead() {
    const std::vector<NodeId> nodes(graph_.nodes().begin(), graph_.nodes().end());
    const auto uses = graph_.all_uses();
    Meetings meetings(graph_, nodes);
    for (auto id = nodes.rbegin(); id != nodes.rend(); ++id) {
      const Node& node = graph_.node(*id);
      for (ValueId result : node.results)
        future(result).meets = meetings.add(*id, uses[static_cast<size_t>(result)], is_output(result));
      for (ValueId operand : node.operands)
        if (operand != kNone) want(node, *id, operand);
    }
  }

  void want(const Node& node, NodeId id, ValueId operand) {
    if (is_permutation(graph_, id)) future(operand).wanted = permutation_of(graph_, id);
    if (!has_transposed(*node.op)) return;
    for (ValueId result : node.results) {
      const Permutation wanted = future(result).wanted;
      if (wanted.size() == graph_.type(operand).rank() && !wanted.empty()) future(operand).wanted = wanted;
    }
  }

  // A transpose of a transpose is one, or none.
  void join(NodeId id) {
    const NodeId inner = permutation_before(graph_, graph_.operand(id, 0));
    if (inner == kNone) return;
    const ValueId source = graph_.operand(inner, 0);
    const Permutation perm = composed(permutation_of(graph_, inner), permutation_of(graph_, id));
    if (std::is_sorted(perm.begin(), perm.end())) replace_by_value(graph_, id, source);
    else {
      const Future kept = future(graph_.result(id));
      future(graph_.result(replace_node(graph_, id, ops::Transpose{.x = source, .perm = perm}))) = kept;
    }
    drop(inner);
  }

  void drop(NodeId transpose) {
    if (graph_.use_count(graph_.result(transpose)) == 0) graph_.erase(transpose);
  }

  void sink(NodeId id) {
    const Node node = graph_.node(id);
    const std::span operands(node.operands.data(), transposed_operands(*node.op, node.operands.size()));
    const auto first = std::find_if(operands.begin(), operands.end(),
                                    [&](ValueId v) { return permutation_before(graph_, v) != kNone; });
    if (first == operands.end()) return;
    const Permutation perm = permutation_of(graph_, graph_.producer(*first));
    if (!has_ranked_operands(node)) return;
    const std::optional<Transposed> moved =
        transposed({*node.op, types_of(node.operands), graph_.type(node.results[0]), node.attributes, perm});
    if (!moved || !has_ranks(node, moved->result.size()) || !pays(id, operands, *moved, perm)) return;
    for (ValueId operand : operands)
      if (!has_source(node, operand, perm)) return;
    move(id, operands.size(), *moved, perm);
  }

  std::vector<const TensorType*> types_of(std::span<const ValueId> values) const {
    std::vector<const TensorType*> types;
    for (ValueId v : values) types.push_back(v == kNone ? nullptr : &graph_.type(v));
    return types;
  }

  bool has_ranked_operands(const Node& node) const {
    return std::ranges::all_of(node.operands, [&](ValueId v) { return v == kNone || graph_.type(v).ranked; });
  }

  bool has_ranks(const Node& node, size_t rank) const {
    return std::all_of(node.results.begin(), node.results.end(),
                       [&](ValueId v) { return graph_.type(v).ranked && graph_.type(v).rank() == rank; });
  }

  NodeId transpose_by(ValueId operand, const Permutation& perm) const {
    const NodeId found = permutation_before(graph_, operand);
    return found != kNone && permutation_of(graph_, found) == perm ? found : kNone;
  }

  // No more transposes after than before: those of operands that go against those of results that stay. More for a
  // while where the uses of an operand come together.
  bool pays(NodeId id, std::span<const ValueId> operands, const Transposed& moved, const Permutation& perm) {
    int gone = 0, left = 0;
    for (ValueId operand : std::set(operands.begin(), operands.end())) {
      const NodeId transpose = transpose_by(operand, perm);
      if (transpose == kNone) continue;
      if (future(operand).meets) return true;
      const std::vector<Graph::Use> uses = graph_.uses(operand);
      const bool only = std::all_of(uses.begin(), uses.end(), [&](const Graph::Use& use) { return use.node == id; });
      gone += only && !is_output(operand) && costs(graph_.type(graph_.operand(transpose, 0)).shape, perm);
    }
    for (ValueId result : graph_.node(id).results) {
      const Shape source = permuted(graph_.type(result).shape, inverse(moved.result));
      const Permutation& wanted = future(result).wanted;
      const bool cancels = wanted.size() == moved.result.size() && keeps_order(source, composed(moved.result, wanted));
      left += !cancels && costs(source, moved.result);
    }
    return left <= gone;
  }

  bool is_output(ValueId v) const {
    return std::any_of(graph_.outputs().begin(), graph_.outputs().end(), [&](const Output& o) { return o.value == v; });
  }

  // The shape of an operand of a broadcast before the transpose, without ones in front.
  static Shape source_shape(Shape shape, const Permutation& perm) {
    shape.insert(shape.begin(), perm.size() - shape.size(), Dim(1));
    shape = permuted(shape, inverse(perm));
    shape.erase(shape.begin(), std::find_if(shape.begin(), shape.end(), [](const Dim& d) { return d != Dim(1); }));
    return shape;
  }

  // Whether a view of it is its source: what broadcasts and has its axes longer than 1 in the same order there.
  bool is_view(const Node& node, ValueId operand, const Permutation& perm) const {
    Shape shape = graph_.type(operand).shape;
    if (!node.op->pointwise || depends_on_data(shape) || shape.size() > perm.size()) return false;
    shape.insert(shape.begin(), perm.size() - shape.size(), Dim(1));
    return keeps_order(shape, inverse(perm));
  }

  // The transpose of an operand that is there for another node's sake.
  NodeId existing(ValueId operand, const Permutation& perm) const {
    for (const Graph::Use& use : graph_.uses(operand))
      if (is_permutation(graph_, use.node) && permutation_of(graph_, use.node) == perm) return use.node;
    return kNone;
  }

  bool has_source(const Node& node, ValueId operand, const Permutation& perm) const {
    if (operand == kNone || transpose_by(operand, perm) != kNone) return true;
    if (graph_.type(operand).is_packed()) return false;
    if (is_view(node, operand, perm)) return true;
    return graph_.type(operand).rank() == perm.size() &&
           (graph_.constant(operand) || existing(operand, inverse(perm)) != kNone);
  }

  // The operand before the transpose, at the insertion point.
  ValueId source_of(const Node& node, ValueId operand, const Permutation& perm) {
    if (operand == kNone) return kNone;
    if (const NodeId transpose = transpose_by(operand, perm); transpose != kNone) return graph_.operand(transpose, 0);
    if (!is_view(node, operand, perm))
      return graph_.constant(operand) ? moved_constant(operand, perm) : transposed_here(operand, inverse(perm));
    const Shape shape = source_shape(graph_.type(operand).shape, perm);
    if (shape == graph_.type(operand).shape) return operand;
    return ops::reshape(graph_, {.x = operand, .shape = shape});
  }

  ValueId moved_constant(ValueId constant, const Permutation& perm) {
    const auto [found, is_new] = moved_constants_.try_emplace({constant, perm}, kNone);
    const Tensor* tensor = graph_.constant(constant);
    if (is_new)
      found->second = graph_.add_constant("", evaluate_node(transpose_def, {&tensor, 1}, {{"perm", inverse(perm)}})[0]);
    return found->second;
  }

  // The transpose that another node asks for, here.
  ValueId transposed_here(ValueId operand, const Permutation& perm) {
    const NodeId other = existing(operand, perm);
    if (!ahead_.contains(other)) return graph_.result(other);
    const ValueId here = ops::transpose(graph_, {.x = operand, .perm = perm});
    const Future kept = future(graph_.result(other));
    future(here) = kept;
    ahead_.erase(other);
    replace_by_value(graph_, other, here);
    return here;
  }

  void move(NodeId id, size_t transposed, const Transposed& moved, const Permutation& perm) {
    const Node node = graph_.node(id);
    std::vector<ValueId> operands = node.operands;
    graph_.set_insertion_point(id);
    for (size_t i = 0; i < transposed; ++i) operands[i] = source_of(node, operands[i], perm);
    const NodeId sunk = graph_.add_node(*moved.op, operands, moved.attributes);
    for (size_t i = 0; i < node.results.size(); ++i)
      take_over(node.results[i], graph_.result(sunk, static_cast<int>(i)), moved.result);
    graph_.set_insertion_point(kNone);
    std::vector<std::string> names;
    for (ValueId result : node.results) names.push_back(graph_.value(result).name);
    graph_.erase(id);
    for (size_t i = 0; i < names.size(); ++i) graph_.rename(graph_.result(sunk, static_cast<int>(i)), names[i]);
    for (ValueId operand : std::set(node.operands.begin(), node.operands.end()))
      if (const NodeId transpose = permutation_before(graph_, operand); transpose != kNone) drop(transpose);
  }

  // The transpose of `source` replaces `old`, whose sizes it has, those that depend on data among them.
  void take_over(ValueId old, ValueId source, const Permutation& perm) {
    TensorType type = graph_.type(old);
    type.shape = permuted(type.shape, inverse(perm));
    graph_.refine_type(source, type);
    const bool in_order = std::is_sorted(perm.begin(), perm.end());
    const ValueId result = in_order ? source : ops::transpose(graph_, {.x = source, .perm = perm});
    const Future kept = future(old);
    future(result) = kept;
    graph_.replace_all_uses(old, result);
  }

  Graph& graph_;
  std::vector<Future> futures_;
  std::set<NodeId> ahead_;  // nodes of the graph as it was that are still to be visited
  std::map<std::pair<ValueId, Permutation>, ValueId> moved_constants_;
};

// A transpose that leaves the elements in their order is a view.
void make_views(Graph& graph) {
  for (NodeId id : graph.nodes(transpose_def)) {
    const Shape shape = graph.type(graph.result(id)).shape;
    const ValueId source = graph.operand(id, 0);
    if (is_permutation(graph, id) && !depends_on_data(shape) &&
        keeps_order(graph.type(source).shape, permutation_of(graph, id)))
      replace_node(graph, id, ops::Reshape{.x = source, .shape = shape});
  }
}

Graph sink_transposes(Graph graph, const PassContext&) {
  Graph sunk = graph;
  Sinker(sunk).run();
  if (count_transposes(sunk) <= count_transposes(graph)) graph = std::move(sunk);
  make_views(graph);
  return graph;
}

}  // namespace

extern constinit const PassDef sink_transposes_def{
    .name = "sink_transposes",
    .doc =
        "Transposes move through pointwise ops, reductions, concat, slices, pad, resize and views towards the outputs "
        "where they cancel or become no more; those that only move axes of length 1 become reshapes.",
    .run = sink_transposes};

}  // namespace hone
