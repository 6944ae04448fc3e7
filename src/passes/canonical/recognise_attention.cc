// Attention spelled as exporters do, with B batches, H heads of D columns, S queries, T keys:
//   matmul(softmax(matmul(q4, k4ᵀ) * scale [+ mask]), v4), q4 [B,H,S,D], k4 and v4 [B,H,T,D]
// that are heads split from rows [B,L,H*D]: reshaped to [B,L,H,D] and transposed, with what stands between moved in
// front of the transpose, such as the rotation of positions. The scale may stand on the scores, on q or on k, as a
// product or a quotient; k4ᵀ may be one transpose, two, one among reshapes, or transpose_b. Heads may share keys, by
// expand. Where no key is seen PyTorch makes the weights 0, by where(is_nan(weights), 0, weights): blind_is_zero.
#include <cmath>
#include <limits>
#include <map>

#include "ir/unbacked.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/attention.h"
#include "ops/calls/comparison.h"
#include "ops/calls/expand.h"
#include "ops/calls/matmul.h"
#include "ops/calls/reshape.h"
#include "ops/calls/softmax.h"
#include "ops/calls/transpose.h"
#include "ops/transposed.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/permutation.h"

namespace hone {
namespace {

const Permutation kByHead{0, 2, 1, 3};  // [B,L,H,D] to [B,H,L,D], and back

// The operand of a transpose by this permutation, kNone for anything else.
ValueId transposed_from(const Graph& graph, ValueId id, const Permutation& wanted) {
  const NodeId node = permutation_before(graph, id);
  return node != kNone && permutation_of(graph, node) == wanted ? graph.operand(node, 0) : kNone;
}

ValueId reshaped_from(const Graph& graph, ValueId id, size_t rank) {
  const NodeId node = produced_by(graph, id, reshape_def);
  if (node == kNone) return kNone;
  const TensorType& from = graph.type(graph.operand(node, 0));
  return from.ranked && from.rank() == rank ? graph.operand(node, 0) : kNone;
}

// Heads times a factor: [B,H,L,D], or [B,L,H,D] where they are split from rows alone.
struct Heads {
  ValueId value = kNone;
  double factor = 1;
  bool are_split = false;
  int64_t shared_by = 1;  // so many heads of q
  const Shape& shape(const Graph& graph) const { return graph.type(value).shape; }
  Dim length(const Graph& graph) const { return shape(graph)[are_split ? 1 : 2]; }
  Dim count(const Graph& graph) const { return shape(graph)[are_split ? 2 : 1]; }
};

bool is_4d(const Graph& graph, ValueId id) {
  const TensorType& type = graph.type(id);
  return type.ranked && type.rank() == 4 && !type.is_packed() && type.shape[1].is_constant() &&
         type.shape[3].is_constant() && !depends_on_data(type.shape);
}

// Rows of heads as [B,L,H,D], from a value [B,H,L,D] that is the transpose of such, or what ops that let a transpose
// pass make of some.
class Splitter {
 public:
  explicit Splitter(Graph& graph) : graph_(graph) {}

  bool can_split(ValueId id, int depth = 0) {
    if (transposed_from(graph_, id, kByHead) != kNone || stacked(id) != kNone) return true;
    if (!is_4d(graph_, id) || depth > kMostDepth) return false;
    if (graph_.type(id).shape[1] == Dim(1)) return true;  // broadcasts
    const NodeId node = graph_.producer(id);
    if (node == kNone || graph_.node(node).results.size() != 1) return false;
    const std::optional<Transposed> moved = moved_before(node);
    if (!moved || moved->result != kByHead) return false;
    return std::ranges::all_of(moving(node), [&](ValueId v) { return passes(v) || can_split(v, depth + 1); });
  }

  // Of a value that can be split, at the insertion point.
  ValueId split(ValueId id) {
    if (const ValueId source = transposed_from(graph_, id, kByHead); source != kNone) return source;
    if (const auto found = made_.find(id); found != made_.end()) return found->second;
    if (const ValueId rows = stacked(id); rows != kNone) {
      const Shape& to = graph_.type(id).shape;
      const ValueId by_position = ops::reshape(graph_, {.x = rows, .shape = Shape{to[2], to[0], to[1], to[3]}});
      return made_[id] = ops::transpose(graph_, {.x = by_position, .perm = Permutation{1, 0, 2, 3}});
    }
    if (graph_.type(id).shape[1] == Dim(1)) return made_[id] = ops::transpose(graph_, {.x = id, .perm = kByHead});
    const NodeId node = graph_.producer(id);
    const Transposed moved = *moved_before(node);
    std::vector<ValueId> operands = graph_.node(node).operands;
    const size_t count = moving(node).size();
    for (size_t i = 0; i < count; ++i)
      if (!passes(operands[i])) operands[i] = split(operands[i]);
    return made_[id] = graph_.result(graph_.add_node(*moved.op, operands, moved.attributes));
  }

 private:
  static constexpr int kMostDepth = 16;

  // [L,B*H,D] of [B,H,L,D] that are its transpose [B*H,L,D].
  ValueId stacked(ValueId id) const {
    const ValueId flat = is_4d(graph_, id) ? reshaped_from(graph_, id, 3) : kNone;
    const ValueId rows = flat == kNone ? kNone : transposed_from(graph_, flat, {1, 0, 2});
    if (rows == kNone) return kNone;
    const Shape& to = graph_.type(id).shape;
    return graph_.type(rows).shape == Shape{to[2], to[0] * to[1], to[3]} ? rows : kNone;
  }

  // Absent operands, numbers, and rows that every head and position shares, read alike in either order.
  bool passes(ValueId id) const { return id == kNone || (graph_.type(id).ranked && graph_.type(id).rank() <= 1); }

  std::span<const ValueId> moving(NodeId node) const {
    const std::vector<ValueId>& operands = graph_.node(node).operands;
    return {operands.data(), transposed_operands(*graph_.node(node).op, operands.size())};
  }

  std::optional<Transposed> moved_before(NodeId id) const {
    const Node& node = graph_.node(id);
    if (!has_transposed(*node.op)) return std::nullopt;
    std::vector<const TensorType*> types;
    for (ValueId v : node.operands) types.push_back(v == kNone ? nullptr : &graph_.type(v));
    if (!std::ranges::all_of(types, [](const TensorType* type) { return !type || type->ranked; })) return std::nullopt;
    return transposed({*node.op, types, graph_.type(node.results[0]), node.attributes, kByHead});
  }

  Graph& graph_;
  std::map<ValueId, ValueId> made_;
};

// Heads of this shape [B,H,T,D] that are each several of fewer ones: `wide` [B,H/G,G,T,D] is expand(unsqueeze(x, 2)).
std::optional<Heads> shared(const Graph& graph, ValueId wide, const Shape& shape) {
  const NodeId expand = produced_by(graph, wide, expand_def);
  const ValueId thin = expand == kNone ? kNone : graph.operand(expand, 0);
  const NodeId inserted = thin == kNone ? kNone : graph.producer(thin);
  if (inserted == kNone || (graph.node(inserted).op != &unsqueeze_def && graph.node(inserted).op != &reshape_def))
    return std::nullopt;
  const ValueId x = graph.operand(inserted, 0);
  if (!is_4d(graph, x) || !graph.type(thin).ranked) return std::nullopt;
  const Shape &from = graph.type(x).shape, &all = graph.type(wide).shape;
  const Dim group = all[2];
  if (!group.is_constant() || graph.type(thin).shape != Shape{from[0], from[1], Dim(1), from[2], from[3]} ||
      all != Shape{from[0], from[1], group, from[2], from[3]} ||
      shape != Shape{from[0], from[1] * group, from[2], from[3]})
    return std::nullopt;
  return Heads{.value = x, .shared_by = group.constant()};
}

// Of [B,H,T,D].
Heads unshared(const Graph& graph, const Heads& heads) {
  const ValueId wide = heads.are_split ? kNone : reshaped_from(graph, heads.value, 5);
  if (wide == kNone) return heads;
  std::optional<Heads> fewer = shared(graph, wide, heads.shape(graph));
  if (fewer) fewer->factor = heads.factor;
  return fewer.value_or(heads);
}

// k [B,H,T,D] of a value [B,H,D,T], or as split.
Heads turned(const Graph& graph, ValueId id) {
  if (const ValueId split = transposed_from(graph, id, {0, 2, 3, 1}); split != kNone) return {split, 1, true};
  if (const ValueId heads = transposed_from(graph, id, {0, 1, 3, 2}); heads != kNone) return {heads};
  // [B,H,D,T] from [B*H,D,T], the transpose of [B*H,T,D].
  const ValueId flat = reshaped_from(graph, id, 3);
  const ValueId rows = flat == kNone ? kNone : transposed_from(graph, flat, {0, 2, 1});
  if (rows == kNone) return {};
  const Shape& to = graph.type(id).shape;
  const Shape by_head{to[0], to[1], to[3], to[2]};
  if (const ValueId heads = reshaped_from(graph, rows, 4); heads != kNone && graph.type(heads).shape == by_head)
    return {heads};
  const ValueId wide = reshaped_from(graph, rows, 5);
  return wide == kNone ? Heads{} : shared(graph, wide, by_head).value_or(Heads{});
}

// Factors on the way are taken off.
Heads peeled(const Graph& graph, Heads heads) {
  const Scaled scaled = peel_scale(graph, heads.value);
  heads.value = scaled.value, heads.factor *= scaled.factor;
  return heads;
}

struct Match {
  Heads q, k, v;
  double factor = 1;
  std::vector<ValueId> masks = {};  // one that says what is seen, or some that are added
  bool blind_is_zero = false;
};

std::optional<Match> scores_of(const Graph& graph, ValueId id) {
  const Scaled scaled = peel_scale(graph, id);
  const NodeId product = produced_by(graph, scaled.value, matmul_def);
  if (product == kNone || graph.node(product).attributes.get_or<int64_t>("transpose_a", 0) == 1) return std::nullopt;
  const bool transpose_b = graph.node(product).attributes.get_or<int64_t>("transpose_b", 0) == 1;
  const Heads q = peeled(graph, {graph.operand(product, 0)});
  Heads k = peeled(graph, {graph.operand(product, 1)});
  if (!transpose_b) {
    const double factor = k.factor;
    if (!graph.type(k.value).ranked || graph.type(k.value).rank() != 4) return std::nullopt;
    k = turned(graph, k.value);
    if (k.value == kNone) return std::nullopt;
    k.factor *= factor;
  }
  k = peeled(graph, unshared(graph, peeled(graph, k)));
  return Match{.q = q, .k = k, .v = {}, .factor = scaled.factor * q.factor * k.factor};
}

// where(seen, x, -inf) of a boolean `seen`, which says as a mask what adding its numbers would.
struct Hidden {
  ValueId seen, x;
};
std::optional<Hidden> hidden_by(const Graph& graph, ValueId id) {
  const NodeId where = produced_by(graph, id, where_def);
  if (where == kNone || uniform_value(graph, graph.operand(where, 2)) != -std::numeric_limits<double>::infinity())
    return std::nullopt;
  return Hidden{graph.operand(where, 0), graph.operand(where, 1)};
}

bool fits_mask(const TensorType& type) { return type.ranked && type.rank() <= 4 && !depends_on_data(type.shape); }

// Terms are added one after the other.
std::optional<Match> masked_scores(const Graph& graph, ValueId id, int terms = 4) {
  if (const auto scores = scores_of(graph, id)) return scores;
  const auto masked = [&](ValueId x, ValueId mask) -> std::optional<Match> {
    if (!fits_mask(graph.type(mask)) || graph.type(x).shape != graph.type(id).shape) return std::nullopt;
    const bool is_first = graph.type(mask).dtype == DType::boolean;
    std::optional<Match> match = is_first ? scores_of(graph, x) : masked_scores(graph, x, terms - 1);
    for (ValueId other : match ? match->masks : std::vector<ValueId>())
      if (graph.type(other).dtype == DType::boolean) return std::nullopt;
    if (match) match->masks.push_back(mask);
    return match;
  };
  if (const auto hidden = hidden_by(graph, id)) return masked(hidden->x, hidden->seen);
  const NodeId add = produced_by(graph, id, add_def);
  if (add == kNone || terms == 0) return std::nullopt;
  for (int i : {0, 1}) {
    const ValueId x = graph.operand(add, i), mask = graph.operand(add, 1 - i);
    if (!is_float(graph.type(mask).dtype)) continue;
    const auto hidden = hidden_by(graph, mask);
    if (hidden && uniform_value(graph, hidden->x) == 0)
      if (auto match = masked(x, hidden->seen)) return match;
    if (auto match = masked(x, mask)) return match;
  }
  return std::nullopt;
}

// The weights that where(is_nan(w), 0, w) guards; `id` itself where nothing does.
ValueId guarded(const Graph& graph, ValueId id) {
  const NodeId where = produced_by(graph, id, where_def);
  if (where == kNone || graph.use_count(id) != 1 || uniform_value(graph, graph.operand(where, 1)) != 0) return id;
  const ValueId weights = graph.operand(where, 2);
  const NodeId test = produced_by(graph, graph.operand(where, 0), is_nan_def);
  const bool guards = test != kNone && graph.operand(test, 0) == weights && graph.use_count(graph.result(test)) == 1 &&
                      graph.use_count(weights) == 2;
  return guards ? weights : id;
}

// From the matmul with v back to everything that goes in.
std::optional<Match> match_product(const Graph& graph, NodeId product) {
  for (const char* transposed : {"transpose_a", "transpose_b"})
    if (graph.node(product).attributes.get_or<int64_t>(transposed, 0) == 1) return std::nullopt;
  const ValueId read = graph.operand(product, 0), weights = guarded(graph, read);
  const NodeId softmax = produced_by(graph, weights, softmax_def);
  if (softmax == kNone || (weights == read && graph.use_count(weights) != 1)) return std::nullopt;
  const auto axis = graph.node(softmax).attributes.get_or<int64_t>("axis", -1);
  if (axis != -1 && axis != 3) return std::nullopt;
  std::optional<Match> match = masked_scores(graph, graph.operand(softmax, 0));
  if (!match) return std::nullopt;
  match->v = unshared(graph, {graph.operand(product, 1)});
  match->blind_is_zero = weights != read;
  return match;
}

// Whether the sizes are those of one attention, and all three can be had as rows.
bool is_attention(Graph& graph, Splitter& splitter, NodeId product, const Match& match) {
  for (const Heads* heads : {&match.q, &match.k, &match.v})
    if (heads->are_split ? !graph.type(heads->value).ranked || graph.type(heads->value).rank() != 4 ||
                               !heads->count(graph).is_constant() || !heads->shape(graph)[3].is_constant()
                         : !is_4d(graph, heads->value) || !splitter.can_split(heads->value))
      return false;
  const TensorType& type = graph.type(graph.result(product));
  const Shape &q = match.q.shape(graph), &k = match.k.shape(graph), &v = match.v.shape(graph);
  const Dim heads = match.q.count(graph);
  return type.dtype == DType::f32 && type.shape == Shape{q[0], heads, match.q.length(graph), v[3]} && k[0] == q[0] &&
         v[0] == q[0] && k[3] == q[3] && match.k.length(graph) == match.v.length(graph) &&
         match.k.count(graph) == match.v.count(graph) && match.k.shared_by == match.v.shared_by &&
         match.k.count(graph) * Dim(match.k.shared_by) == heads && !(heads == Dim(0)) && !(q[3] == Dim(0)) &&
         !(v[3] == Dim(0));
}

// [B,L,H*D]: what was split, or joined again.
ValueId joined(Graph& graph, ValueId split) {
  const Shape shape = graph.type(split).shape, rows{shape[0], shape[1], shape[2] * shape[3]};
  const ValueId source = reshaped_from(graph, split, 3);
  if (source != kNone && graph.type(source).shape == rows) return source;
  return ops::reshape(graph, {.x = split, .shape = rows});
}

// Likewise, and the factor of what was split.
Scaled scaled_rows(Graph& graph, Splitter& splitter, const Heads& heads) {
  const Scaled split = peel_scale(graph, heads.are_split ? heads.value : splitter.split(heads.value));
  const Scaled rows = peel_scale(graph, joined(graph, split.value));
  return {rows.value, split.factor * rows.factor};
}

// The product [B,H,S,D] becomes rows [B,S,H*D], and so do the transposes and reshapes that made them such, whose name
// they get.
void replace(Graph& graph, NodeId product, ValueId rows, const Dim& heads) {
  const Shape shape = graph.type(rows).shape;
  const Shape by_head{shape[0], shape[1], heads, Dim(shape[2].constant() / heads.constant())};
  const ValueId split = ops::reshape(graph, {.x = rows, .shape = by_head});
  std::string name = graph.value(graph.result(product)).name;
  for (const Graph::Use& use : graph.uses(graph.result(product)))
    if (is_permutation(graph, use.node) && permutation_of(graph, use.node) == kByHead)
      replace_by_value(graph, use.node, split);
  for (const Graph::Use& use : graph.uses(split))
    if (graph.node(use.node).op == &reshape_def && use.operand == 0 &&
        graph.type(graph.result(use.node)).shape == shape) {
      name = graph.value(graph.result(use.node)).name;
      replace_by_value(graph, use.node, rows);
    }
  const bool is_read = graph.use_count(graph.result(product)) > 0;
  if (is_read) replace_by_value(graph, product, ops::transpose(graph, {.x = split, .perm = kByHead}));
  else graph.erase(product);
  graph.rename(rows, name);
}

void recognise(Graph& graph, NodeId product) {
  const std::optional<Match> found = match_product(graph, product);
  Splitter splitter(graph);
  if (!found || !is_attention(graph, splitter, product, *found)) return;
  const Dim heads = found->q.count(graph);
  const double usual = 1 / std::sqrt(static_cast<double>(found->q.shape(graph)[3].constant()));
  graph.set_insertion_point(product);
  const Scaled q = scaled_rows(graph, splitter, found->q), k = scaled_rows(graph, splitter, found->k);
  const double factor = found->factor * q.factor * k.factor;
  const bool is_usual = std::abs(factor - usual) <= 1e-6 * usual;
  const int64_t kv_heads = found->k.count(graph).constant();
  ValueId mask = kNone;
  for (ValueId term : found->masks) mask = mask == kNone ? term : ops::add(graph, {mask, term});
  const ValueId rows =
      ops::attention(graph, {.q = q.value,
                             .k = k.value,
                             .v = joined(graph, splitter.split(found->v.value)),
                             .mask = mask,
                             .heads = heads.constant(),
                             .kv_heads = kv_heads == heads.constant() ? std::nullopt : std::optional(kv_heads),
                             .scale = is_usual ? std::nullopt : std::optional(factor),
                             .blind_is_zero = found->blind_is_zero ? std::optional<int64_t>(1) : std::nullopt});
  replace(graph, product, rows, heads);
  graph.set_insertion_point(kNone);
}

Graph recognise_attention(Graph graph, const PassContext&) {
  for (NodeId id : graph.nodes(matmul_def)) recognise(graph, id);
  return graph;
}

}  // namespace

extern constinit const PassDef recognise_attention_def{
    .name = "recognise_attention",
    .doc =
        "softmax(q·kᵀ * scale + mask)·v with the reshapes and transposes that split and join heads becomes attention; "
        "where(seen, .., -inf) a boolean mask. Where(is_nan(weights), 0, weights) makes queries that see no key 0: "
        "scores that are NaN stay NaN.",
    .run = recognise_attention};

}  // namespace hone
