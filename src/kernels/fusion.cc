#include "kernels/fusion.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "base/stop.h"
#include "kernels/elements.h"
#include "kernels/registry.h"
#include "kernels/shapes.h"

namespace hone {
namespace {

constexpr size_t kMaxResults = 3;    // values one kernel writes
constexpr size_t kMaxJoined = 5;     // where other nodes join its anchor
constexpr size_t kMaxOperands = 10;  // values one kernel reads besides its anchor's own
constexpr size_t kMaxAlone = 13;     // values that one without an anchor reads

// What keeps the work linear in the size of the graph, and one function short enough for LLVM. Networks stay far below.
constexpr size_t kMaxNodes = 64;       // of a group
constexpr size_t kMaxUses = 256;       // of a value through which a group grows
constexpr size_t kMaxLookedAt = 8192;  // operands of nodes between a group and a candidate
constexpr size_t kMaxLeftOut = 16;     // nodes of which a group says why they are not in it
constexpr size_t kMaxBetween = 8;      // pointwise nodes between what a group reads and one that joins it

// Of the classes that take an op, the order in which they are asked.
std::span<const KernelDef* const> kernels_of(const OpDef& op) {
  static std::mutex mutex;
  static std::map<const OpDef*, std::vector<const KernelDef*>> known;
  const std::lock_guard lock(mutex);
  const auto [found, is_new] = known.try_emplace(&op);
  if (is_new) {
    std::ranges::copy_if(kernels::all(), std::back_inserter(found->second),
                         [&](const KernelDef* kernel) { return kernel->takes(op); });
    std::ranges::stable_sort(found->second, std::greater<>(), &KernelDef::precedence);
  }
  return found->second;
}

// The same for a node.
std::span<const KernelDef* const> kernels_at(const Graph& graph, NodeId n) {
  std::span<const KernelDef* const> kernels = kernels_of(*graph.node(n).op);
  while (kernels.size() > 1 && kernels[0]->suits && !kernels[0]->suits(graph, n)) kernels = kernels.subspan(1);
  return kernels;
}

class Fuser {
 public:
  explicit Fuser(const Graph& graph)
      : graph_(graph),
        uses_(graph.all_uses()),
        group_of_(graph.node_capacity(), -1),
        position_(graph.node_capacity(), 0),
        rank_(graph.node_capacity(), 0),
        seen_(graph.node_capacity(), 0),
        is_output_(graph.value_capacity(), false) {
    for (const Output& output : graph.outputs()) is_output_[static_cast<size_t>(output.value)] = true;
    int next = 0;
    for (NodeId n : graph.nodes()) rank(n) = position_[static_cast<size_t>(n)] = next++;
  }

  std::vector<Group> alone() {
    for (NodeId n : graph_.nodes()) {
      start(n);
      groups_.back().results = escaping({n});
    }
    return ordered();
  }

  std::vector<Group> run() {
    for (bool last : {false, true})
      for (NodeId n : graph_.nodes()) {
        if (graph_.node(n).op->pointwise || group_of(n) >= 0) continue;
        const std::span<const KernelDef* const> kernels = kernels_at(graph_, n);
        if ((!kernels.empty() && kernels[0]->group.starts_last) != last) continue;
        check_stop();
        start(n);
        if (absorbs_users(groups_.back())) absorb_users(group_of(n));
        if (absorbs_producers(groups_.back())) absorb_producers(group_of(n));
        absorb_joining(group_of(n));
      }
    for (NodeId n : graph_.nodes())
      if (group_of(n) < 0) {
        check_stop();
        start(n);
        const int g = group_of(n);
        if (groups_[static_cast<size_t>(g)].anchor != kNone || !graph_.node(n).op->pointwise) absorb_users(g);
        else
          while (absorb_users(g) || absorb_producers(g)) {
          }
      }
    for (Group& group : groups_) {
      std::ranges::sort(group.nodes.edit(), [&](NodeId a, NodeId b) { return position(a) < position(b); });
      group.results = escaping(group.nodes);
      note_left_out(group);
    }
    return ordered();
  }

 private:
  int& group_of(NodeId n) { return group_of_[static_cast<size_t>(n)]; }
  int position(NodeId n) const { return position_[static_cast<size_t>(n)]; }
  const std::vector<Graph::Use>& uses(ValueId v) const { return uses_[static_cast<size_t>(v)]; }

  void start(NodeId n) {
    group_of(n) = static_cast<int>(groups_.size());
    groups_.push_back(group_of_one(graph_, n));
  }

  static const GroupRules* rules(const Group& group) {
    return group.kernels.empty() ? nullptr : &group.kernels[0]->group;
  }
  bool absorbs_users(const Group& group) const {
    if (group.anchor == kNone) return true;
    const GroupRules* r = rules(group);
    return r && r->takes_users && r->takes_users(graph_, group.anchor);
  }
  bool absorbs_producers(const Group& group) const {
    const GroupRules* r = rules(group);
    return r && r->takes_producers && r->takes_producers(graph_, group.anchor);
  }

  std::vector<ValueId> escaping(const std::vector<NodeId>& nodes) {
    std::vector<ValueId> values;
    for (NodeId n : nodes)
      for (ValueId v : graph_.node(n).results) {
        const auto is_outside = [&](const Graph::Use& use) {
          return std::ranges::find(nodes, use.node) == nodes.end();
        };
        if (is_output_[static_cast<size_t>(v)] || std::ranges::any_of(uses(v), is_outside)) values.push_back(v);
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

  // --- the order of units: groups, and nodes that are in none ---
  // A unit has a rank, above those of all units that it reads from, so that a search between two of them need not leave
  // the ranks between theirs. After Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic
  // graphs" (2006).
  int& rank(NodeId n) { return rank_[static_cast<size_t>(n)]; }
  std::vector<NodeId> unit(NodeId n) {
    if (group_of(n) < 0) return {n};
    return groups_[static_cast<size_t>(group_of(n))].nodes;
  }
  bool same_unit(NodeId a, NodeId b) { return a == b || (group_of(a) >= 0 && group_of(a) == group_of(b)); }
  std::vector<NodeId> read_by_unit(NodeId n) {
    std::vector<NodeId> nodes;
    for (ValueId v : external_operands(unit(n)))
      if (const NodeId p = graph_.producer(v); p != kNone) nodes.push_back(p);
    return nodes;
  }
  std::vector<NodeId> readers_of_unit(NodeId n) {
    std::vector<NodeId> nodes;
    for (NodeId each : unit(n))
      for (ValueId v : graph_.node(each).results)
        for (const Graph::Use& use : uses(v))
          if (!same_unit(use.node, n)) nodes.push_back(use.node);
    return nodes;
  }

  // Units between two of which `from` is one, as a node of each, and whether the other was met behind one of them.
  struct Between {
    std::vector<NodeId> nodes;
    bool reaches = false;
  };
  template <class Next>
  Between search(NodeId from, NodeId other, Next next) {
    Between found;
    size_t looked_at = 0;
    ++search_;
    std::vector<NodeId> stack{from};
    while (!stack.empty()) {
      const NodeId n = stack.back();
      stack.pop_back();
      for (NodeId p : next(n)) {
        found.reaches |= n != from && same_unit(p, other);
        found.reaches |= ++looked_at > kMaxLookedAt;
        if (found.reaches) return found;
        const bool between = (rank(p) > rank(from)) != (rank(p) > rank(other)) && !same_unit(p, other);
        if (!between || seen_[static_cast<size_t>(p)] == search_) continue;
        for (NodeId each : unit(p)) seen_[static_cast<size_t>(each)] = search_;
        found.nodes.push_back(p);
        stack.push_back(p);
      }
    }
    return found;
  }
  Between before(NodeId high, NodeId low) {
    return search(high, low, [&](NodeId n) { return read_by_unit(n); });
  }
  Between behind(NodeId low, NodeId high) {
    return search(low, high, [&](NodeId n) { return readers_of_unit(n); });
  }

  // Whether one of the units depends on the other through a third, so that they can't run as one piece; or whether it
  // takes long to know, in either direction.
  bool would_cycle(NodeId a, NodeId b) {
    const NodeId low = rank(a) < rank(b) ? a : b, high = low == a ? b : a;
    return before(high, low).reaches || behind(low, high).reaches;
  }

  // Makes `n`, which is in no group, a part of one. What the higher of the two reads comes before both, what reads the
  // lower behind.
  void take(int g, NodeId n) {
    Group& group = groups_[static_cast<size_t>(g)];
    const NodeId own = group.nodes.front(), low = rank(own) < rank(n) ? own : n, high = low == n ? own : n;
    std::vector<NodeId> first = before(high, low).nodes, last = behind(low, high).nodes;
    std::vector<int> ranks{rank(low), rank(high)};
    for (std::vector<NodeId>* nodes : {&first, &last}) {
      std::ranges::sort(*nodes, [&](NodeId a, NodeId b) { return rank(a) < rank(b); });
      for (NodeId each : *nodes) ranks.push_back(rank(each));
    }
    std::ranges::sort(ranks);
    for (size_t i = 0; i < first.size(); ++i) move(first[i], ranks[i]);
    for (size_t i = 0; i < last.size(); ++i) move(last[i], ranks[ranks.size() - last.size() + i]);
    group.nodes.push_back(n);
    group_of(n) = g;
    move(n, ranks[first.size()]);
  }
  void move(NodeId n, int to) {
    for (NodeId each : unit(n)) rank(each) = to;
  }

  // Whether a kernel that computes the value may go on with it. Codes that a float is rounded to are the stored ones,
  // and so is the larger of two.
  bool passes_unrounded(ValueId v) const {
    const DType dtype = graph_.type(v).dtype;
    const NodeId p = graph_.producer(v);
    const bool is_code = (dtype == DType::i8 || dtype == DType::u8) && p != kNone &&
                         is_one_of(*graph_.node(p).op, {"quantize_linear", "max"});
    return is_code || hone::passes_unrounded(dtype);
  }

  Support acceptable(const Group& group, NodeId candidate) {
    if (group.nodes.size() >= kMaxNodes) return {fmt::format("more than {} nodes", kMaxNodes)};
    std::vector<NodeId> nodes = group.nodes;
    nodes.push_back(candidate);
    const GroupRules* r = rules(group);
    const size_t results = r && r->joins ? kMaxJoined : kMaxResults;
    if (escaping(nodes).size() > results) return {fmt::format("more than {} results", results)};
    const size_t most = group.anchor == kNone ? kMaxAlone : kMaxOperands;
    if (external_operands(nodes).size() > most) return {fmt::format("more than {} operands", most)};
    if (would_cycle(group.nodes.front(), candidate))
      return {"it needs a value that is computed from this kernel's elsewhere"};
    return {};
  }

  void note_left_out(Group& group) {
    if (group.kernels.empty()) return;
    const TensorType& like = graph_.type(graph_.node(group.nodes.front()).results[0]);
    for (ValueId v : group.results)
      for (const Graph::Use& use : uses(v)) {
        const Node& node = graph_.node(use.node);
        if (group.left_out.size() >= kMaxLeftOut) return;
        if (!node.op->pointwise || std::ranges::find(group.nodes, use.node) != group.nodes.end()) continue;
        if (std::ranges::find(group.left_out, use.node, &LeftOut::node) != group.left_out.end()) continue;
        const Support support = !absorbs_users(group) ? Support{"kernels of this kind have no epilogue"}
                                : !passes_unrounded(v)
                                    ? Support{fmt::format("{} is rounded between", to_string(graph_.type(v).dtype))}
                                    : fits_as_user(group, use.node, like);
        group.left_out.push_back({use.node, support.supported() ? "another kernel took it first" : support.why});
      }
  }

  // Grows the group forward through pointwise nodes that work on the same elements; whether it has grown.
  bool absorb_users(int g) {
    const size_t before = groups_[static_cast<size_t>(g)].nodes.size();
    for (bool grown = true; grown;) {
      grown = false;
      Group& group = groups_[static_cast<size_t>(g)];
      const TensorType& shape_of = graph_.type(graph_.node(group.nodes.front()).results[0]);
      for (size_t i = 0; i < group.nodes.size() && !grown; ++i)
        for (ValueId v : std::vector<ValueId>(graph_.node(group.nodes[i]).results)) {
          if (!passes_unrounded(v) || uses(v).size() > kMaxUses) continue;
          for (const Graph::Use& use : uses(v)) {
            if (group_of(use.node) >= 0 || !fits_as_user(group, use.node, shape_of).supported()) continue;
            take(g, use.node);
            grown = true;
            break;
          }
          if (grown) break;
        }
    }
    return groups_[static_cast<size_t>(g)].nodes.size() > before;
  }

  Support fits_as_user(const Group& group, NodeId user, const TensorType& like) {
    const Node& node = graph_.node(user);
    if (!node.op->pointwise) return {"it is not element by element"};
    if (!is_compilable(graph_, node)) return {"an operand's element type has no vector load or store"};
    if (const GroupRules* r = rules(group); r->user_fits)
      if (Support support = r->user_fits(graph_, user); !support.supported()) return support;
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
    const GroupRules* r = rules(group);
    return !r->operand_fits || r->operand_fits(graph_.type(v).shape, like.shape);
  }

  // Pulls in nodes that feed this group and no other, so that nothing comes to depend on it that did not: pointwise
  // ones, and what its rules say; outputs only where it has no anchor. Whether it has grown.
  bool absorb_producers(int g) {
    const size_t before = groups_[static_cast<size_t>(g)].nodes.size();
    for (bool grown = true; grown;) {
      grown = false;
      Group& group = groups_[static_cast<size_t>(g)];
      const bool anchored = group.anchor != kNone;
      const TensorType& like =
          graph_.type(anchored ? graph_.node(group.anchor).operands[0] : graph_.node(group.nodes.front()).results[0]);
      for (ValueId v : external_operands(group.nodes)) {
        const NodeId p = graph_.producer(v);
        if (p == kNone || group_of(p) >= 0 || !may_feed(group, p)) continue;
        if (anchored && is_output_[static_cast<size_t>(v)]) continue;
        if (graph_.type(v).shape != like.shape || !passes_unrounded(v) || !is_compilable(graph_, graph_.node(p)))
          continue;
        const auto& users = uses(v);
        if (!std::all_of(users.begin(), users.end(), [&](const Graph::Use& u) { return group_of(u.node) == g; }))
          continue;
        bool fits = acceptable(group, p).supported();
        for (ValueId operand : graph_.node(p).operands)
          fits = fits && operand != kNone && operand_fits(group, operand, like);
        if (!fits) continue;
        take(g, p);
        grown = true;
        break;
      }
    }
    return groups_[static_cast<size_t>(g)].nodes.size() > before;
  }

  // Takes in what is computed in the same pass over what the group reads and makes, with what feeds it alone.
  void absorb_joining(int g) {
    const GroupRules* r = rules(groups_[static_cast<size_t>(g)]);
    if (!r || !r->joins) return;
    for (bool grown = true; grown;) {
      grown = false;
      std::set<ValueId> values = external_operands(groups_[static_cast<size_t>(g)].nodes);
      for (NodeId n : groups_[static_cast<size_t>(g)].nodes)
        values.insert(graph_.node(n).results.begin(), graph_.node(n).results.end());
      for (ValueId v : values) {
        const NodeId n = joining_behind(groups_[static_cast<size_t>(g)], *r, v, kMaxBetween);
        if (n == kNone) continue;
        take(g, n);
        absorb_producers(g);
        grown = true;
        break;
      }
    }
  }

  // A node that joins the group and reads `v`, or what is made of it for that one alone.
  NodeId joining_behind(const Group& group, const GroupRules& r, ValueId v, size_t between) {
    if (uses(v).size() > kMaxUses || graph_.type(v).shape != graph_.type(graph_.operand(group.anchor, 0)).shape)
      return kNone;
    for (const Graph::Use& use : uses(v)) {
      if (group_of(use.node) >= 0) continue;
      if (joins(group, r, use.node)) {
        if (!is_read_by(group, use.node) && acceptable(group, use.node).supported()) return use.node;
        continue;
      }
      const Node& node = graph_.node(use.node);
      const bool passes = node.op->pointwise || (r.feeds && r.feeds(graph_, group.anchor, use.node));
      if (between == 0 || !passes || uses(node.results[0]).size() != 1) continue;
      if (const NodeId n = joining_behind(group, r, node.results[0], between - 1); n != kNone) return n;
    }
    return kNone;
  }
  // What joins is known at the end of the pass, too late for what is computed in it.
  bool is_read_by(const Group& group, NodeId n) {
    for (ValueId v : graph_.node(n).results)
      for (const Graph::Use& use : uses(v))
        if (group_of(use.node) == group_of(group.nodes.front())) return true;
    return false;
  }
  bool joins(const Group& group, const GroupRules& r, NodeId other) const {
    const Node& node = graph_.node(other);
    return node.operands[0] != kNone && !graph_.type(node.operands[0]).is_packed() &&
           r.joins(graph_, group.anchor, other);
  }

  bool may_feed(const Group& group, NodeId producer) const {
    if (graph_.node(producer).op->pointwise) return true;
    const GroupRules* r = rules(group);
    return group.anchor != kNone && r && r->feeds && r->feeds(graph_, group.anchor, producer);
  }

  // Groups that the group reads from.
  std::vector<size_t> read_by(size_t g) {
    std::vector<size_t> groups;
    for (ValueId v : external_operands(groups_[g].nodes))
      if (const NodeId p = graph_.producer(v); p != kNone) groups.push_back(static_cast<size_t>(group_of(p)));
    std::ranges::reverse(groups);  // they are taken from the back
    return groups;
  }

  std::vector<Group> ordered() {
    enum class State : uint8_t { unseen, open, placed };
    struct Visit {
      size_t group;
      std::vector<size_t> reads;  // those that are still to be placed before it
    };
    std::vector<Group> result;
    std::vector<State> state(groups_.size(), State::unseen);
    std::vector<Visit> visits;  // a stack of its own: groups may depend on each other in a long chain
    const auto open = [&](size_t g) {
      if (state[g] == State::placed) return;
      CHECK(state[g] == State::unseen, "fusion groups depend on each other");
      state[g] = State::open;
      visits.push_back({g, read_by(g)});
    };
    for (NodeId n : graph_.nodes()) {
      open(static_cast<size_t>(group_of(n)));
      while (!visits.empty()) {
        if (!visits.back().reads.empty()) {
          const size_t next = visits.back().reads.back();
          visits.back().reads.pop_back();
          open(next);
          continue;
        }
        const size_t g = visits.back().group;
        visits.pop_back();
        state[g] = State::placed;
        result.push_back(std::move(groups_[g]));
      }
    }
    return result;
  }

  const Graph& graph_;
  std::vector<std::vector<Graph::Use>> uses_;
  std::vector<int> group_of_, position_, rank_;
  std::vector<uint32_t> seen_;  // per node: the last search that met it
  std::vector<bool> is_output_;
  uint32_t search_ = 0;
  std::vector<Group> groups_;
};

}  // namespace

Group group_of_one(const Graph& graph, NodeId n) {
  const Node& node = graph.node(n);
  return {.kernels = kernels_at(graph, n),
          .view = node.op->view,
          .anchor = node.op->pointwise ? kNone : n,
          .nodes = {n},
          .results = node.results,
          .left_out = {}};
}

std::vector<Group> fuse(const Graph& graph, bool together) {
  return together ? Fuser(graph).run() : Fuser(graph).alone();
}

std::string ops_of(const Graph& graph, const Group& group) {
  std::string text;
  for (NodeId n : group.nodes) text += fmt::format("{}{}", text.empty() ? "" : "+", graph.node(n).op->name);
  return text;
}

std::string to_string(const Graph& graph, const Group& group) {
  std::string text(group.view ? "view " : "interpreted ");
  if (!group.kernels.empty()) text = fmt::format("{} ", group.kernels[0]->name);
  text += ops_of(graph, group) + " ->";
  for (ValueId v : group.results) text += fmt::format(" %{}", graph.value(v).name);
  return text;
}

}  // namespace hone
