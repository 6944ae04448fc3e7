#include "codegen/fusion.h"
#include "codegen/elements.h"

#include <algorithm>
#include <set>

#include "codegen/shapes.h"

namespace hone {
namespace {

constexpr size_t kMaxResults = 3;    // values one kernel writes
constexpr size_t kMaxOperands = 10;  // values one kernel reads besides its anchor's own

class Fuser {
 public:
  explicit Fuser(const Graph& graph)
      : graph_(graph),
        uses_(graph.all_uses()),
        group_of_(graph.node_capacity(), -1),
        position_(graph.node_capacity(), 0) {
    for (const Output& output : graph.outputs()) is_output_.insert(output.value);
    int next = 0;
    for (NodeId n : graph.nodes()) position_[static_cast<size_t>(n)] = next++;
  }

  std::vector<Group> alone() {
    for (NodeId n : graph_.nodes()) {
      const bool pointwise = graph_.node(n).op->pointwise != nullptr;
      start(n, pointwise ? Codegen::pointwise : graph_.node(n).op->codegen);
      if (pointwise) groups_.back().anchor = kNone;
      groups_.back().results = escaping({n});
    }
    return ordered();
  }

  std::vector<Group> run() {
    for (NodeId n : graph_.nodes()) {
      const Codegen kind = graph_.node(n).op->codegen;
      if (graph_.node(n).op->pointwise || group_of(n) >= 0) continue;
      start(n, kind);
      if (kind == Codegen::gemm || kind == Codegen::conv || kind == Codegen::window || kind == Codegen::attention ||
          (kind == Codegen::row && keeps_rows(n)))
        absorb_users(group_of(n));
      if (kind == Codegen::row && works_on_rows(n)) absorb_producers(group_of(n));
    }
    for (NodeId n : graph_.nodes())
      if (group_of(n) < 0) {
        start(n, Codegen::pointwise);
        groups_.back().anchor = kNone;
        absorb_users(group_of(n));
      }
    for (Group& group : groups_) {
      std::sort(group.nodes.begin(), group.nodes.end(), [&](NodeId a, NodeId b) { return position(a) < position(b); });
      group.results = escaping(group.nodes);
      note_left_out(group);
    }
    return ordered();
  }

 private:
  int& group_of(NodeId n) { return group_of_[static_cast<size_t>(n)]; }
  int position(NodeId n) const { return position_[static_cast<size_t>(n)]; }
  const std::vector<Graph::Use>& uses(ValueId v) const { return uses_[static_cast<size_t>(v)]; }

  void start(NodeId n, Codegen kind) {
    group_of(n) = static_cast<int>(groups_.size());
    groups_.push_back({.kind = kind, .anchor = n, .nodes = {n}, .results = {}, .left_out = {}});
  }

  bool keeps_rows(NodeId n) const {
    return graph_.type(graph_.result(n)).shape == graph_.type(graph_.operand(n, 0)).shape;
  }

  bool works_on_rows(NodeId n) const {
    const auto run = reduced_run(graph_.node(n), constant_shape(graph_.type(graph_.operand(n, 0)).shape));
    return run && run->inner == 1;
  }

  std::vector<ValueId> escaping(const std::vector<NodeId>& nodes) {
    std::vector<ValueId> values;
    for (NodeId n : nodes)
      for (ValueId v : graph_.node(n).results) {
        bool outside = is_output_.count(v) > 0;
        for (const Graph::Use& use : uses(v)) outside |= std::find(nodes.begin(), nodes.end(), use.node) == nodes.end();
        if (outside) values.push_back(v);
      }
    return values;
  }

  std::set<ValueId> external_operands(const std::vector<NodeId>& nodes) {
    std::set<ValueId> values;
    for (NodeId n : nodes)
      for (ValueId v : graph_.node(n).operands)
        if (v != kNone && std::find(nodes.begin(), nodes.end(), graph_.producer(v)) == nodes.end()) values.insert(v);
    return values;
  }

  // Whether a value read by the group from outside depends on the group: then it can't run as one piece.
  bool would_cycle(const std::vector<NodeId>& nodes) {
    int first = position(nodes.front());
    for (NodeId n : nodes) first = std::min(first, position(n));
    std::vector<NodeId> stack;
    std::set<NodeId> seen;
    auto push = [&](ValueId v) {
      const NodeId p = v == kNone ? kNone : graph_.producer(v);
      if (p == kNone || position(p) < first || !seen.insert(p).second) return;
      stack.push_back(p);
    };
    for (ValueId v : external_operands(nodes)) push(v);
    while (!stack.empty()) {
      const NodeId n = stack.back();
      stack.pop_back();
      if (std::find(nodes.begin(), nodes.end(), n) != nodes.end()) return true;
      // A node that already runs as part of a group needs everything which that group reads.
      if (const int g = group_of(n); g >= 0) {
        for (ValueId v : external_operands(groups_[static_cast<size_t>(g)].nodes)) push(v);
      } else {
        for (ValueId v : graph_.node(n).operands) push(v);
      }
    }
    return false;
  }

  Refusal acceptable(const Group& group, NodeId candidate) {
    std::vector<NodeId> nodes = group.nodes;
    nodes.push_back(candidate);
    if (escaping(nodes).size() > kMaxResults) return {fmt::format("more than {} results", kMaxResults)};
    if (external_operands(nodes).size() > kMaxOperands) return {fmt::format("more than {} operands", kMaxOperands)};
    if (would_cycle(nodes)) return {"it needs a value that is computed from this kernel's elsewhere"};
    return {};
  }

  void note_left_out(Group& group) {
    if (group.kind == Codegen::none || group.kind == Codegen::view) return;
    const TensorType& like = graph_.type(graph_.node(group.nodes.front()).results[0]);
    for (ValueId v : group.results)
      for (const Graph::Use& use : uses(v)) {
        const Node& node = graph_.node(use.node);
        if (!node.op->pointwise || std::ranges::find(group.nodes, use.node) != group.nodes.end()) continue;
        if (std::ranges::find(group.left_out, use.node, &LeftOut::node) != group.left_out.end()) continue;
        const bool absorbs = group.kind != Codegen::gather && group.kind != Codegen::move &&
                             group.kind != Codegen::quantise &&
                             (group.kind != Codegen::row || keeps_rows(group.anchor));
        const Refusal refusal = !absorbs ? Refusal{"kernels of this kind have no epilogue"}
                                : !passes_unrounded(graph_.type(v).dtype)
                                    ? Refusal{fmt::format("{} is rounded between", to_string(graph_.type(v).dtype))}
                                    : fits_as_user(group, use.node, like);
        group.left_out.push_back({use.node, refusal.accepted() ? "another kernel took it first" : refusal.why});
      }
  }

  // Grows the group forward through pointwise nodes that work on the same elements.
  void absorb_users(int g) {
    for (bool grown = true; grown;) {
      grown = false;
      Group& group = groups_[static_cast<size_t>(g)];
      const TensorType& shape_of = graph_.type(graph_.node(group.nodes.front()).results[0]);
      for (size_t i = 0; i < group.nodes.size() && !grown; ++i)
        for (ValueId v : std::vector<ValueId>(graph_.node(group.nodes[i]).results)) {
          if (!passes_unrounded(graph_.type(v).dtype)) continue;
          for (const Graph::Use& use : uses(v)) {
            if (group_of(use.node) >= 0 || !fits_as_user(group, use.node, shape_of).accepted()) continue;
            group.nodes.push_back(use.node);
            group_of(use.node) = g;
            grown = true;
            break;
          }
          if (grown) break;
        }
    }
  }

  // An attention kernel has no element program; its one possible follower is the rounding of its result.
  Refusal fits_as_user(const Group& group, NodeId user, const TensorType& like) {
    const Node& node = graph_.node(user);
    if (!node.op->pointwise) return {"it is not element by element"};
    if (!is_compilable(graph_, node)) return {"an operand's element type has no vector load or store"};
    if (group.kind == Codegen::attention &&
        (std::string_view(node.op->name) != "cast" || graph_.use_count(node.operands[0]) != 1 ||
         graph_.type(node.results[0]).dtype != DType::bf16))
      return {"attention kernels only round their result"};
    if (graph_.type(node.results[0]).shape != like.shape) return {"its result has another shape"};
    for (ValueId v : node.operands)
      if (v != kNone && group_of_value(v) != &group && !operand_fits(group, v, like))
        return {fmt::format("%{} {} does not lie along the result", graph_.value(v).name, to_string(graph_.type(v)))};
    return acceptable(group, user);
  }

  const Group* group_of_value(ValueId v) {
    const NodeId p = graph_.producer(v);
    return p == kNone || group_of(p) < 0 ? nullptr : &groups_[static_cast<size_t>(group_of(p))];
  }

  bool operand_fits(const Group& group, ValueId v, const TensorType& like) {
    if (graph_.type(v).is_packed()) return false;
    switch (group.kind) {
      case Codegen::gemm:
      case Codegen::conv:
      case Codegen::window:
        return gemm_access(constant_shape(graph_.type(v).shape), constant_shape(like.shape)).has_value();
      case Codegen::row:
        return row_access(constant_shape(graph_.type(v).shape), constant_shape(like.shape)).has_value();
      default:
        return true;
    }
  }

  // Pulls pointwise nodes that only feed this row op into its kernel.
  void absorb_producers(int g) {
    for (bool grown = true; grown;) {
      grown = false;
      Group& group = groups_[static_cast<size_t>(g)];
      const TensorType& like = graph_.type(graph_.node(group.anchor).operands[0]);
      for (ValueId v : external_operands(group.nodes)) {
        const NodeId p = graph_.producer(v);
        if (p == kNone || group_of(p) >= 0 || is_output_.count(v) || !graph_.node(p).op->pointwise) continue;
        if (graph_.type(v).shape != like.shape || !passes_unrounded(graph_.type(v).dtype) ||
            !is_compilable(graph_, graph_.node(p)))
          continue;
        const auto& users = uses(v);
        if (!std::all_of(users.begin(), users.end(), [&](const Graph::Use& u) { return group_of(u.node) == g; }))
          continue;
        bool fits = acceptable(group, p).accepted();
        for (ValueId operand : graph_.node(p).operands)
          fits = fits && operand != kNone && operand_fits(group, operand, like);
        if (!fits) continue;
        group.nodes.push_back(p);
        group_of(p) = g;
        grown = true;
        break;
      }
    }
  }

  std::vector<Group> ordered() {
    std::vector<Group> result;
    std::vector<char> state(groups_.size(), 0);
    auto visit = [&](auto&& self, size_t g) -> void {
      if (state[g] == 2) return;
      CHECK(state[g] == 0, "fusion groups depend on each other");
      state[g] = 1;
      for (ValueId v : external_operands(groups_[g].nodes))
        if (const NodeId p = graph_.producer(v); p != kNone) self(self, static_cast<size_t>(group_of(p)));
      state[g] = 2;
      result.push_back(groups_[g]);
    };
    for (NodeId n : graph_.nodes()) visit(visit, static_cast<size_t>(group_of(n)));
    return result;
  }

  const Graph& graph_;
  std::vector<std::vector<Graph::Use>> uses_;
  std::vector<int> group_of_, position_;
  std::set<ValueId> is_output_;
  std::vector<Group> groups_;
};

}  // namespace

std::vector<Group> fuse(const Graph& graph, bool together) {
  return together ? Fuser(graph).run() : Fuser(graph).alone();
}

std::string to_string(const Graph& graph, const Group& group) {
  static constexpr const char* kinds[] = {"interpreted", "pointwise", "gemm", "attention", "row",     "gather",
                                          "conv",        "window",    "move", "view",      "quantise"};
  std::string text = fmt::format("{} ", kinds[static_cast<size_t>(group.kind)]);
  for (size_t i = 0; i < group.nodes.size(); ++i)
    text += fmt::format("{}{}", i ? "+" : "", graph.node(group.nodes[i]).op->name);
  text += " ->";
  for (ValueId v : group.results) text += fmt::format(" %{}", graph.value(v).name);
  return text;
}

}  // namespace hone
