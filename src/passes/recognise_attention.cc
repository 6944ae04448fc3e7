// Attention spelled as exporters do, with B batches, H heads of D columns, S queries, T keys:
//   q4 [B,H,S,D] = transpose(reshape(q [B,S,H*D], [B,S,H,D]), 0 2 1 3); k4, v4 alike from k, v [B,T,...]
//   softmax(matmul(q4, k4ᵀ) * scale [+ mask]) · v4, transposed and reshaped back to [B,S,H*D]
// The scale may stand on the scores, on q or on k, as a product or a quotient; k4ᵀ may be one transpose, two, or
// transpose_b. Where no key is seen PyTorch makes the weights 0, by where(is_nan(weights), 0, weights): blind_is_zero.
#include <cmath>
#include <limits>

#include "ops/calls.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

using Permutation = std::vector<int64_t>;

// A value [B,L,H*D] that was split into heads, times a factor.
struct Heads {
  ValueId value;
  double factor;
  int64_t heads;
};

// The operand of a transpose by this permutation, kNone for anything else.
ValueId transposed_from(const Graph& graph, ValueId id, const Permutation& wanted) {
  const NodeId node = produced_by(graph, id, transpose_def);
  if (node == kNone || !graph.node(node).attributes.has("perm")) return kNone;
  Permutation perm = graph.node(node).attributes.get<Permutation>("perm");
  for (int64_t& axis : perm) axis += axis < 0 ? static_cast<int64_t>(perm.size()) : 0;
  return perm == wanted ? graph.operand(node, 0) : kNone;
}

// `split` [B,L,H,D] as reshape of [B,L,H*D].
std::optional<Heads> split_heads(const Graph& graph, ValueId split, double factor) {
  const Scaled inner = peel_scale(graph, split);
  const NodeId reshape = produced_by(graph, inner.value, reshape_def);
  if (reshape == kNone) return std::nullopt;
  const ValueId x = graph.operand(reshape, 0);
  const Shape &from = graph.type(x).shape, &to = graph.type(inner.value).shape;
  if (from.size() != 3 || to.size() != 4 || from[0] != to[0] || from[1] != to[1]) return std::nullopt;
  if (!to[2].is_constant() || !to[3].is_constant() || from[2] != to[2] * to[3]) return std::nullopt;
  const Scaled outer = peel_scale(graph, x);
  return Heads{outer.value, factor * inner.factor * outer.factor, to[2].constant()};
}

// [B,H,L,D] from [B,L,H*D].
std::optional<Heads> heads_of(const Graph& graph, ValueId id) {
  const Scaled scaled = peel_scale(graph, id);
  const ValueId split = transposed_from(graph, scaled.value, {0, 2, 1, 3});
  return split == kNone ? std::nullopt : split_heads(graph, split, scaled.factor);
}

// [B,H,D,L] from [B,L,H*D].
std::optional<Heads> transposed_heads_of(const Graph& graph, ValueId id) {
  const Scaled scaled = peel_scale(graph, id);
  const ValueId split = transposed_from(graph, scaled.value, {0, 2, 3, 1});
  if (split != kNone) return split_heads(graph, split, scaled.factor);
  const ValueId heads = transposed_from(graph, scaled.value, {0, 1, 3, 2});
  if (heads == kNone) return std::nullopt;
  std::optional<Heads> found = heads_of(graph, heads);
  if (found) found->factor *= scaled.factor;
  return found;
}

struct Scores {
  Heads q, k;
  double factor;
};
std::optional<Scores> scores_of(const Graph& graph, ValueId id) {
  const Scaled scaled = peel_scale(graph, id);
  const NodeId product = produced_by(graph, scaled.value, matmul_def);
  if (product == kNone || graph.node(product).attributes.get_or<int64_t>("transpose_a", 0) == 1) return std::nullopt;
  const bool transpose_b = graph.node(product).attributes.get_or<int64_t>("transpose_b", 0) == 1;
  const std::optional<Heads> q = heads_of(graph, graph.operand(product, 0));
  const ValueId keys = graph.operand(product, 1);
  const std::optional<Heads> k = transpose_b ? heads_of(graph, keys) : transposed_heads_of(graph, keys);
  if (!q || !k || q->heads != k->heads) return std::nullopt;
  return Scores{*q, *k, scaled.factor * q->factor * k->factor};
}

struct Match {
  Scores scores;
  ValueId mask = kNone;
  Heads v = {};
  bool blind_is_zero = false;
};

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

bool fits_mask(const TensorType& type) { return type.ranked && type.rank() <= 4; }

std::optional<Match> masked_scores(const Graph& graph, ValueId id) {
  if (const auto scores = scores_of(graph, id)) return Match{*scores};
  if (const auto hidden = hidden_by(graph, id);
      hidden && fits_mask(graph.type(hidden->seen)) && graph.type(hidden->x).shape == graph.type(id).shape)
    if (const auto scores = scores_of(graph, hidden->x)) return Match{*scores, hidden->seen};
  const NodeId add = produced_by(graph, id, add_def);
  if (add == kNone) return std::nullopt;
  for (int i : {0, 1}) {
    const ValueId mask = graph.operand(add, 1 - i);
    if (!fits_mask(graph.type(mask)) || !is_float(graph.type(mask).dtype)) continue;
    if (graph.type(graph.operand(add, i)).shape != graph.type(id).shape) continue;
    const auto scores = scores_of(graph, graph.operand(add, i));
    if (!scores) continue;
    const auto hidden = hidden_by(graph, mask);
    const bool is_choice = hidden && uniform_value(graph, hidden->x) == 0 && fits_mask(graph.type(hidden->seen));
    return Match{*scores, is_choice ? hidden->seen : mask};
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
  const std::optional<Heads> v = heads_of(graph, graph.operand(product, 1));
  if (!match || !v || v->heads != match->scores.q.heads || v->factor != 1) return std::nullopt;
  match->v = *v, match->blind_is_zero = weights != read;
  return match;
}

void recognise(Graph& graph, NodeId merge) {
  const ValueId joined = transposed_from(graph, graph.operand(merge, 0), {0, 2, 1, 3});
  const NodeId product = joined == kNone ? kNone : produced_by(graph, joined, matmul_def);
  if (product == kNone) return;
  const std::optional<Match> found = match_product(graph, product);
  if (!found) return;
  const Scores& scores = found->scores;
  const int64_t columns = graph.type(scores.q.value).shape[2].constant() / scores.q.heads;
  const double usual = 1 / std::sqrt(static_cast<double>(columns));
  const bool is_usual = std::abs(scores.factor - usual) <= 1e-6 * usual;
  const TensorType type = graph.type(graph.result(merge));
  const Shape& q = graph.type(scores.q.value).shape;
  if (type.shape != Shape{q[0], q[1], graph.type(found->v.value).shape[2]} || type.dtype != DType::f32) return;
  replace_node(graph, merge,
               ops::Attention{.q = scores.q.value,
                              .k = scores.k.value,
                              .v = found->v.value,
                              .mask = found->mask,
                              .heads = scores.q.heads,
                              .scale = is_usual ? std::nullopt : std::optional(scores.factor),
                              .blind_is_zero = found->blind_is_zero ? std::optional<int64_t>(1) : std::nullopt});
}

Graph recognise_attention(Graph graph, const PassContext&) {
  for (NodeId id : graph.nodes(reshape_def)) recognise(graph, id);
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
