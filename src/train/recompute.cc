#include "train/recompute.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "ops/calls/barrier.h"

namespace hone {
namespace {

class Recomputer {
 public:
  Recomputer(Graph& graph, std::span<const NodeId> forward, std::span<const ValueId> parameters)
      : graph_(graph), forward_(forward.begin(), forward.end()), uses_(graph.all_uses()) {
    for (size_t i = 0; i < forward_.size(); ++i) place_[forward_[i]] = i;
    size_t at = 0;
    for (NodeId node : graph.nodes()) order_[node] = at++;
    find_trained(parameters);
  }

  std::vector<NodeId> run(int64_t cuts) {
    const std::vector<size_t> ends = stretch_ends(cuts);
    for (size_t k = ends.size(); k-- > 1;) copy_stretch(ends[k - 1], ends[k]);
    if (!ends.empty()) copy_stretch(0, ends[0]);
    return std::move(made_);
  }

 private:
  const std::vector<Graph::Use>& uses_of(ValueId v) const { return uses_[static_cast<size_t>(v)]; }

  // Values that change with what is trained: others (masks, what frozen layers give) are there anyway.
  void find_trained(std::span<const ValueId> parameters) {
    trained_.insert(parameters.begin(), parameters.end());
    for (NodeId node : forward_)
      if (std::ranges::any_of(graph_.node(node).operands, [&](ValueId v) { return trained_.contains(v); }))
        trained_.insert(graph_.node(node).results.begin(), graph_.node(node).results.end());
  }

  // The place of the last forward node that reads it; -1 when none does.
  int64_t last_reader(ValueId v) const {
    int64_t last = -1;
    for (const Graph::Use& use : uses_of(v))
      if (const auto found = place_.find(use.node); found != place_.end())
        last = std::max(last, static_cast<int64_t>(found->second));
    return last;
  }

  // Places behind which a single trained value goes on, every `cuts`-th of those with a product since the one before;
  // what follows the last of them is no stretch.
  std::vector<size_t> stretch_ends(int64_t cuts) const {
    std::vector<size_t> ends;
    std::multiset<int64_t> live;               // where values that go on are read last
    bool has_product = false, is_loss = true;  // since the last cut; without a product since the last end
    int64_t since = 0;
    for (size_t i = 0; i < forward_.size(); ++i) {
      const Node& node = graph_.node(forward_[i]);
      if (node.op->operands.factors() > 0) has_product = true, is_loss = false;
      for (ValueId v : node.results)
        if (trained_.contains(v))
          if (const int64_t last = last_reader(v); last > static_cast<int64_t>(i)) live.insert(last);
      while (!live.empty() && *live.begin() <= static_cast<int64_t>(i)) live.erase(live.begin());
      if (live.size() != 1 || !has_product) continue;
      has_product = false;
      if (++since < cuts) continue;
      since = 0;
      is_loss = true;
      ends.push_back(i + 1);
    }
    if (!ends.empty() && is_loss) ends.pop_back();
    return ends;
  }

  // Copies of the nodes [begin, end) for those who read their results after the forward pass.
  void copy_stretch(size_t begin, size_t end) {
    std::map<ValueId, std::vector<Graph::Use>> wanted;
    NodeId first = kNone;
    for (size_t i = begin; i < end; ++i)
      for (ValueId v : graph_.node(forward_[i]).results) {
        if (!trained_.contains(v) || goes_on(v, end)) continue;
        for (const Graph::Use& use : uses_of(v)) {
          if (place_.contains(use.node)) continue;
          wanted[v].push_back(use);
          if (first == kNone || order_.at(use.node) < order_.at(first)) first = use.node;
        }
      }
    if (wanted.empty()) return;
    std::set<ValueId> needed;
    for (const auto& [v, uses] : wanted) needed.insert(v);
    std::vector<NodeId> copied;
    for (size_t i = end; i-- > begin;) {
      const Node& node = graph_.node(forward_[i]);
      if (std::ranges::none_of(node.results, [&](ValueId v) { return needed.contains(v); })) continue;
      copied.push_back(forward_[i]);
      for (ValueId v : node.operands)
        if (v != kNone && is_made_in(v, begin, end)) needed.insert(v);
    }
    graph_.set_insertion_point(first);
    std::map<ValueId, ValueId> copies;
    for (auto node = copied.rbegin(); node != copied.rend(); ++node) copy(*node, copies);
    graph_.set_insertion_point(kNone);
    for (const auto& [v, uses] : wanted)
      for (const Graph::Use& use : uses) graph_.set_operand(use.node, use.operand, copies.at(v));
  }

  void copy(NodeId id, std::map<ValueId, ValueId>& copies) {
    const Node node = graph_.node(id);
    std::vector<ValueId> operands = node.operands;
    for (ValueId& v : operands) {
      if (v == kNone) continue;
      if (!copies.contains(v) && varies(v)) copies[v] = ops::barrier(graph_, {v});
      if (const auto found = copies.find(v); found != copies.end()) v = found->second;
    }
    const NodeId made = graph_.add_node(*node.op, operands, node.attributes, "", node.subgraphs);
    made_.push_back(made);
    for (size_t r = 0; r < node.results.size(); ++r) copies[node.results[r]] = graph_.result(made, static_cast<int>(r));
  }

  bool is_made_in(ValueId v, size_t begin, size_t end) const {
    const auto found = place_.find(graph_.producer(v));
    return found != place_.end() && found->second >= begin && found->second < end && trained_.contains(v);
  }
  // Neither a parameter nor a constant: what is computed of those alone is computed once.
  bool varies(ValueId v) const {
    const Value& value = graph_.value(v);
    return value.kind == ValueKind::result || (value.kind == ValueKind::input && value.role == InputRole::argument);
  }
  bool goes_on(ValueId v, size_t end) const { return last_reader(v) >= static_cast<int64_t>(end); }

  Graph& graph_;
  const std::vector<NodeId> forward_;
  const std::vector<std::vector<Graph::Use>> uses_;
  std::map<NodeId, size_t> place_, order_;  // among forward nodes; among all
  std::set<ValueId> trained_;
  std::vector<NodeId> made_;
};

}  // namespace

std::vector<NodeId> recompute_activations(Graph& graph, std::span<const NodeId> forward,
                                          std::span<const ValueId> parameters, int64_t cuts) {
  return Recomputer(graph, forward, parameters).run(cuts);
}

void keep_passes_apart(Graph& graph, std::span<const NodeId> forward) {
  const std::set<NodeId> before(forward.begin(), forward.end());
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  std::map<ValueId, ValueId> behind;
  for (NodeId id : nodes) {
    if (before.contains(id)) continue;
    for (size_t i = 0; i < graph.node(id).operands.size(); ++i) {
      const ValueId v = graph.node(id).operands[i];
      if (v == kNone || !before.contains(graph.producer(v)) || graph.node(id).op == &barrier_def) continue;
      if (!behind.contains(v)) {
        graph.set_insertion_point(id);
        behind[v] = ops::barrier(graph, {v});
        graph.set_insertion_point(kNone);
      }
      graph.set_operand(id, static_cast<int>(i), behind[v]);
    }
  }
}

}  // namespace hone
