// Items that are taken out of a sequence right where it is made are tensors that need no sequence. Exporters of PyTorch
// write chunk() and split() so. What an item's shape is shows then, too, and so what is computed from it.
#include <algorithm>
#include <optional>
#include <set>

#include "base/stop.h"
#include "ops/calls/reshape.h"
#include "ops/calls/sequence.h"
#include "ops/calls/slice.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

std::optional<std::vector<int64_t>> integers(const Graph& graph, ValueId v) {
  const Tensor* constant = v == kNone ? nullptr : graph.constant(v);
  if (!constant) return std::nullopt;
  return constant->to_integers();
}

struct Part {
  int64_t begin, end;
};

// Which part of its axis item `position` of a split is; none where there is no such item: that shows when the graph
// runs. Negative positions count from the end.
std::optional<Part> part_at(const std::vector<int64_t>& lengths, bool all_alike, int64_t length, int64_t position) {
  if (all_alike) {
    const int64_t each = lengths[0];
    if (each < 1) return std::nullopt;
    const int64_t count = length / each + (length % each != 0);
    if (position < 0) position += count;
    if (position < 0 || position >= count) return std::nullopt;
    return Part{position * each, position + 1 == count ? length : (position + 1) * each};
  }
  const int64_t count = std::ssize(lengths);
  if (position < 0) position += count;
  if (position < 0 || position >= count) return std::nullopt;
  Part part{0, 0};
  int64_t sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t own = lengths[static_cast<size_t>(i)];
    if (own < 0 || own > length - sum) return std::nullopt;
    if (i == position) part = {sum, sum + own};
    sum += own;
  }
  if (sum != length) return std::nullopt;
  return part;
}

// The tensor that a sequence_at is, as new nodes where it takes some; none where that is not known.
std::optional<ValueId> item_of(Graph& graph, NodeId at) {
  const NodeId maker = graph.producer(graph.operand(at, 0));
  const ValueId where = std::ssize(graph.node(at).operands) > 1 ? graph.operand(at, 1) : kNone;
  const auto position = where == kNone ? std::vector<int64_t>{-1} : integers(graph, where);
  if (maker == kNone || !position || position->size() != 1) return std::nullopt;
  const Node node = graph.node(maker);
  if (node.op == &sequence_construct_def) {
    const int64_t count = std::ssize(node.operands), i = (*position)[0] < 0 ? (*position)[0] + count : (*position)[0];
    if (i < 0 || i >= count) return std::nullopt;
    return node.operands[static_cast<size_t>(i)];
  }
  if (node.op != &sequence_split_def) return std::nullopt;
  const ValueId x = node.operands[0];
  const TensorType& type = graph.type(x);
  if (!type.ranked || type.is_packed()) return std::nullopt;
  const auto rank = static_cast<int64_t>(type.rank());
  int64_t axis = node.attributes.get_or<int64_t>("axis", 0);
  if (axis < 0) axis += rank;
  const Dim length = type.shape[static_cast<size_t>(axis)];
  const ValueId given = node.operands.size() > 1 ? node.operands[1] : kNone;
  const auto lengths = given == kNone ? std::vector<int64_t>{1} : integers(graph, given);
  if (!length.is_constant() || !lengths) return std::nullopt;
  const bool all_alike = given == kNone || graph.constant(given)->shape().empty();
  const auto part = part_at(*lengths, all_alike, length.constant(), (*position)[0]);
  if (!part) return std::nullopt;
  using Axes = std::vector<int64_t>;
  const ValueId item = ops::slice(
      graph, {.x = x, .starts = Shape{part->begin}, .ends = Shape{part->end}, .axes = Axes{axis}, .steps = Axes{1}});
  if (given != kNone || node.attributes.get_or<int64_t>("keepdims", 1) != 0) return item;
  return ops::squeeze(graph, {.x = item, .axes = Axes{axis}});
}

Graph resolve_sequences(Graph graph, const PassContext&) {
  std::set<ValueId> sharper;  // whose types say more than before
  const std::vector<NodeId> nodes(graph.nodes().begin(), graph.nodes().end());
  for (NodeId id : nodes) {
    check_stop();
    if (graph.node(id).op == &sequence_at_def) {
      graph.set_insertion_point(id);
      const std::optional<ValueId> item = item_of(graph, id);
      graph.set_insertion_point(kNone);
      if (!item) continue;
      replace_by_value(graph, id, *item);
      sharper.insert(*item);
    } else if (std::ranges::any_of(graph.node(id).operands, [&](ValueId v) { return sharper.contains(v); })) {
      const std::vector<ValueId> results = graph.node(id).results;
      std::vector<TensorType> before;
      for (ValueId v : results) before.push_back(graph.type(v));
      graph.reinfer(id);
      for (size_t i = 0; i < results.size(); ++i)
        if (!(graph.type(results[i]) == before[i])) sharper.insert(results[i]);
    }
  }
  return graph;
}

}  // namespace

extern constinit const PassDef resolve_sequences_def{.name = "resolve_sequences",
                                                     .doc =
                                                         "An item of a sequence that is made of tensors, or by "
                                                         "splitting one at known places, is that tensor or a slice.",
                                                     .run = resolve_sequences};

}  // namespace hone
