#include "passes/compress/channel_coupling.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/stop.h"
#include "ops/calls/attention.h"
#include "ops/calls/batch_norm.h"
#include "ops/calls/concat.h"
#include "ops/calls/conv.h"
#include "ops/calls/gather.h"
#include "ops/calls/linear.h"
#include "ops/calls/mean_pool.h"
#include "ops/calls/normalisation.h"
#include "ops/calls/pool.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"
#include "ops/calls/transpose.h"

namespace hone {
namespace {

// Larger axes, which a file may state of inputs, are not followed.
constexpr int64_t kMostTracked = int64_t{1} << 24;

}  // namespace

ChannelCoupling::ChannelCoupling(const Graph& graph) : graph_(graph), axes_(graph.value_capacity()) {
  for (ValueId input : graph.inputs()) {
    enter(input);
    keep(input, fmt::format("they are the model's input \"{}\"", graph.value(input).label));
  }
  for (ValueId constant : graph.constants()) enter(constant);
  for (NodeId id : graph.nodes()) {
    check_stop();
    visit(graph.node(id));
  }
  for (const Output& output : graph.outputs())
    keep(output.value, fmt::format("they are the model's output \"{}\"", output.label));
}

// Axes of constant size above 1 get nodes of their own; windows of convs do not.
void ChannelCoupling::enter(ValueId id) {
  const TensorType& type = graph_.type(id);
  if (!type.ranked) return;
  for (const Dim& dim : type.shape) {
    Atoms atoms;
    if (dim.is_constant() && dim.constant() > 1 && dim.constant() <= kMostTracked)
      for (int64_t i = 0; i < dim.constant(); ++i) atoms.push_back(forest_.add());
    of(id).push_back(std::move(atoms));
  }
}

void ChannelCoupling::keep(const Atoms& atoms, const std::string& why) {
  for (int atom : atoms) kept_.emplace_back(atom, why);
}

void ChannelCoupling::keep(ValueId id, const std::string& why) {
  for (const Atoms& atoms : of(id)) keep(atoms, why);
}

// Two axes that are one: index by index.
void ChannelCoupling::tie(const Atoms& a, const Atoms& b, const Node& node) {
  if (a.size() == b.size()) {
    for (size_t i = 0; i < a.size(); ++i) forest_.unite(a[i], b[i]);
    return;
  }
  // One is of no weight, or of size 1: it can't shrink with the other.
  const std::string why = fmt::format("{} combines them with what can't shrink", node.op->name);
  if (a.empty()) keep(b, why);
  else if (b.empty()) keep(a, why);
  else keep(a, why), keep(b, why);
}

std::string ChannelCoupling::name_of(const Node& node) const {
  return fmt::format("{} (%{}) mixes them", node.op->name, graph_.value(node.results[0]).name);
}

// What is not followed: nothing that it reads or gives can shrink.
void ChannelCoupling::barrier(const Node& node) {
  for (ValueId operand : node.operands)
    if (operand != kNone) keep(operand, name_of(node));
  for (ValueId result : node.results) {
    enter(result);
    keep(result, name_of(node));
  }
}

void ChannelCoupling::pointwise(const Node& node) {
  const ValueId result = node.results[0];
  const Shape& shape = graph_.type(result).shape;
  Axes axes(shape.size());
  for (ValueId operand : node.operands) {
    if (operand == kNone || !graph_.type(operand).ranked) continue;
    const Shape& own = graph_.type(operand).shape;
    for (size_t i = 0; i < own.size(); ++i) {
      const size_t at = i + shape.size() - own.size();
      if (!own[i].is_constant() || own[i].constant() == 1) continue;
      Atoms& atoms = axes[at];
      if (!seen_[{result, at}]) atoms = of(operand)[i], seen_[{result, at}] = true;
      else tie(atoms, of(operand)[i], node);
    }
  }
  of(result) = std::move(axes);
}

void ChannelCoupling::linear(const Node& node) {
  Axes axes = of(node.operands[0]);
  tie(axes.back(), of(node.operands[1])[1], node);
  axes.back() = of(node.operands[1])[0];
  if (node.operands.size() > 2 && node.operands[2] != kNone) tie(axes.back(), of(node.operands[2])[0], node);
  of(node.results[0]) = std::move(axes);
}

bool ChannelCoupling::conv(const Node& node) {
  if (node.attributes.has("kernel_shape") || node.attributes.get_or<int64_t>("channels_last", 0) == 1) return false;
  const Axes &x = of(node.operands[0]), &w = of(node.operands[1]);
  const auto groups = static_cast<size_t>(node.attributes.get_or<int64_t>("groups", 1));
  Axes axes(graph_.type(node.results[0]).rank());
  axes[0] = x[0];
  axes[1] = w[0];
  for (size_t i = 2; i < w.size(); ++i) dropped_.insert({node.operands[1], static_cast<int>(i)});
  keep_places(x, node);
  if (groups == 1) {
    tie(x[1], w[1], node);
  } else {
    if (x[1].size() % groups != 0 || w[0].size() % groups != 0 || x[1].empty()) return false;
    // A group goes as a whole, with all that it reads and gives.
    const size_t inputs = x[1].size() / groups, outputs = w[0].size() / groups;
    for (size_t g = 0; g < groups; ++g) {
      for (size_t i = 0; i < inputs; ++i) forest_.unite(x[1][g * inputs + i], w[0][g * outputs]);
      for (size_t o = 0; o < outputs; ++o) forest_.unite(w[0][g * outputs + o], w[0][g * outputs]);
    }
    if (inputs > 1) dropped_.insert({node.operands[1], 1});
  }
  if (node.operands.size() > 2 && node.operands[2] != kNone) tie(axes[1], of(node.operands[2])[0], node);
  of(node.results[0]) = std::move(axes);
  return true;
}

// Scales and shifts of `axis`, by which the rest of the operands are.
void ChannelCoupling::normalisation(const Node& node, size_t axis) {
  Axes axes = of(node.operands[0]);
  for (size_t i = 1; i < node.operands.size(); ++i)
    if (node.operands[i] != kNone && !of(node.operands[i]).empty()) tie(axes[axis], of(node.operands[i]).back(), node);
  for (size_t i = 0; i < node.results.size(); ++i) of(node.results[i]) = axes;
}

// Windows move over what lies along an axis behind the channels.
void ChannelCoupling::keep_places(const Axes& x, const Node& node) {
  for (size_t i = 2; i < x.size(); ++i) keep(x[i], name_of(node));
}

bool ChannelCoupling::attention(const Node& node) {
  const auto heads = node.attributes.get<int64_t>("heads"), shared = node.attributes.get_or<int64_t>("kv_heads", heads);
  if (shared < 1 || heads % shared != 0) return false;
  return tie_heads(node, static_cast<size_t>(shared), static_cast<size_t>(heads / shared));
}

// `heads` of keys and values, each with `readers` heads of queries beside each other, which go with it.
bool ChannelCoupling::tie_heads(const Node& node, size_t heads, size_t readers) {
  std::vector<int> of_head(heads, -1);
  for (size_t i = 0; i < 3; ++i) {
    const Atoms& atoms = of(node.operands[i]).back();
    if (atoms.empty() || atoms.size() % heads != 0) return false;
    const size_t columns = atoms.size() / heads;
    for (size_t at = 0; at < atoms.size(); ++at) {
      int& head = of_head[at / columns];
      if (head < 0) head = atoms[at];
      else forest_.unite(head, atoms[at]);
    }
  }
  for (int head : of_head) heads_.push_back(head);
  if (node.operands.size() > 3 && node.operands[3] != kNone) {  // a mask with a row for each head
    const Axes& mask = of(node.operands[3]);
    if (mask.size() >= 3) keep(mask[mask.size() - 3], name_of(node));
  }
  if (node.op == &attention_def && node.operands.size() > 4 && node.operands[4] != kNone)  // a sink for each head
    keep(of(node.operands[4])[0], name_of(node));
  Axes axes = of(node.operands[0]);
  const Atoms values = of(node.operands[2]).back();
  const auto columns = static_cast<int64_t>(values.size() / heads);
  axes.back().clear();
  for (auto head = values.begin(); head != values.end(); head += columns)
    for (size_t reader = 0; reader < readers; ++reader) axes.back().insert(axes.back().end(), head, head + columns);
  of(node.results[0]) = std::move(axes);
  return true;
}

bool ChannelCoupling::gather(const Node& node) {
  const size_t rank = graph_.type(node.operands[0]).rank();
  if (node.attributes.get_or<int64_t>("axis", 0) != 0) return false;
  keep(of(node.operands[0])[0], "their rows are looked up by number");
  Axes axes(graph_.type(node.operands[1]).rank());
  for (size_t i = 1; i < rank; ++i) axes.push_back(of(node.operands[0])[i]);
  of(node.results[0]) = std::move(axes);
  return true;
}

// Batch and channels stay, places are new.
void ChannelCoupling::window(const Node& node) {
  Axes axes(graph_.type(node.results[0]).rank());
  keep_places(of(node.operands[0]), node);
  axes[0] = of(node.operands[0])[0];
  axes[1] = of(node.operands[0])[1];
  for (ValueId result : node.results) of(result) = axes;
}

bool ChannelCoupling::reduction(const Node& node) {
  if (node.operands.size() > 1 && node.operands[1] != kNone) return false;
  const Axes& x = of(node.operands[0]);
  const auto rank = static_cast<int64_t>(x.size());
  std::vector<int64_t> all(x.size());
  std::iota(all.begin(), all.end(), 0);
  std::set<int64_t> reduced;
  for (int64_t axis : node.attributes.get_or<std::vector<int64_t>>("axes", all))
    reduced.insert(axis < 0 ? axis + rank : axis);
  Axes axes;
  for (int64_t axis = 0; axis < rank; ++axis) {
    const Atoms& atoms = x[static_cast<size_t>(axis)];
    if (!reduced.contains(axis)) axes.push_back(atoms);
    else {
      keep(atoms, name_of(node));
      if (node.attributes.get_or<int64_t>("keepdims", 1) == 1) axes.emplace_back();
    }
  }
  of(node.results[0]) = std::move(axes);
  return true;
}

bool ChannelCoupling::transpose(const Node& node) {
  const auto perm = node.attributes.get_or<std::vector<int64_t>>("perm", {});
  const Axes& x = of(node.operands[0]);
  if (perm.size() != x.size()) return false;
  Axes axes;
  for (int64_t from : perm) axes.push_back(x[static_cast<size_t>(from)]);
  of(node.results[0]) = std::move(axes);
  return true;
}

// Runs of dimensions with the same number of elements on both sides. A dimension that stays keeps its indices; where
// channels and places become one dimension, each channel is tied to its places there; where channels fall into
// groups, as those of a group norm do, a group goes as a whole.
bool ChannelCoupling::view(const Node& node) {
  const Shape &from = graph_.type(node.operands[0]).shape, &to = graph_.type(node.results[0]).shape;
  const Axes& x = of(node.operands[0]);
  Axes axes(to.size());
  size_t i = 0, j = 0, from_end = from.size(), to_end = to.size();
  for (; i < from_end && j < to_end && from[i] == to[j]; ++i, ++j) axes[j] = x[i];
  while (from_end > i && to_end > j && from[from_end - 1] == to[to_end - 1]) axes[--to_end] = x[--from_end];
  while (i < from_end || j < to_end) {
    const size_t i0 = i, j0 = j;
    Dim left = i < from_end ? from[i++] : Dim(1), right = j < to_end ? to[j++] : Dim(1);
    while (left != right) {
      const bool constant = left.is_constant() && right.is_constant();
      if (constant ? left.constant() < right.constant() : j == to_end && i < from_end) {
        if (i == from_end) return false;
        left = left * from[i++];
      } else {
        if (j == to_end) return false;
        right = right * to[j++];
      }
    }
    if (!map_run(x, from, i0, i, axes, to, j0, j, node)) return false;
  }
  of(node.results[0]) = std::move(axes);
  return true;
}

// Dimensions i0 to i of `from` are dimensions j0 to j of `to`.
bool ChannelCoupling::map_run(const Axes& x, const Shape& from, size_t i0, size_t i, Axes& axes, const Shape& to,
                              size_t j0, size_t j, const Node& node) {
  std::vector<size_t> source, target;
  for (size_t a = i0; a < i; ++a)
    if (from[a] != Dim(1)) source.push_back(a);
  for (size_t a = j0; a < j; ++a)
    if (to[a] != Dim(1)) target.push_back(a);
  const auto tracked = [&](size_t a) { return !x[a].empty(); };
  if (source.size() == 1 && target.size() == 1) {
    axes[target[0]] = x[source[0]];
    return true;
  }
  const auto with_atoms = std::ranges::count_if(source, tracked);
  if (with_atoms == 0) return true;
  const size_t channel = *std::ranges::find_if(source, tracked);
  Dim outer = 1, inner = 1;
  for (size_t a : source)
    if (a != channel) (a < channel ? outer : inner) = (a < channel ? outer : inner) * from[a];
  std::string why;
  if (with_atoms > 1) why = "joins them with others";
  else if (target.size() == 1) why = join(x[channel], outer, inner, axes[target[0]]);
  else why = divide(x[channel], outer, to, target, axes);
  if (!why.empty())
    for (size_t a : source)
      keep(x[a], fmt::format("{} (%{}) {}", node.op->name, graph_.value(node.results[0]).name, why));
  return true;
}

// Channels with `outer` before and `inner` behind them become one dimension. Gives why they can't be followed there.
std::string ChannelCoupling::join(const Atoms& channels, const Dim& outer, const Dim& inner, Atoms& joined) {
  if (!outer.is_constant() || !inner.is_constant()) return "joins them with a number of places that is left open";
  const Dim all = outer * inner * Dim(static_cast<int64_t>(channels.size()));
  if (!all.is_constant() || all.constant() > kMostTracked) return "makes more of them than are followed";
  for (int64_t o = 0; o < outer.constant(); ++o)
    for (int atom : channels) joined.insert(joined.end(), static_cast<size_t>(inner.constant()), atom);
  return "";
}

// Channels with `outer` before them lie along several dimensions: those of the first behind `outer` are groups of
// channels, or parts of each. Gives why they can't be followed there.
std::string ChannelCoupling::divide(const Atoms& channels, const Dim& outer, const Shape& to,
                                    const std::vector<size_t>& target, Axes& axes) {
  Dim before = 1;
  auto at = target.begin();
  for (; at != target.end() && before != outer; ++at) before = before * to[*at];
  if (at == target.end() || !to[*at].is_constant() || to[*at].constant() > kMostTracked) return "mixes them";
  const auto length = static_cast<size_t>(to[*at].constant()), count = channels.size();
  if (length == 0 || (length % count != 0 && count % length != 0))
    return fmt::format("puts {} of them into {} places", count, length);
  Atoms& divided = axes[*at];
  for (size_t i = 0; i < length; ++i) divided.push_back(channels[i * count / length]);
  for (size_t c = 0; c < count; ++c) forest_.unite(channels[c], divided[c * length / count]);
  return "";
}

bool ChannelCoupling::concat(const Node& node) {
  const size_t rank = graph_.type(node.results[0]).rank();
  const int64_t given = node.attributes.get_or<int64_t>("axis", 0);
  const auto axis = static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(rank) : given);
  Axes axes = of(node.operands[0]);
  for (ValueId operand : node.operands)
    if (graph_.type(operand).rank() != rank || of(operand)[axis].empty()) return false;
  for (size_t n = 1; n < node.operands.size(); ++n)
    for (size_t a = 0; a < rank; ++a) {
      const Atoms& atoms = of(node.operands[n])[a];
      if (a == axis) axes[a].insert(axes[a].end(), atoms.begin(), atoms.end());
      else tie(axes[a], atoms, node);
    }
  of(node.results[0]) = std::move(axes);
  return true;
}

// An op that looks at whole rows (softmax, …): the last axis stays.
bool ChannelCoupling::row(const Node& node) {
  keep(of(node.operands[0]).back(), name_of(node));
  for (ValueId result : node.results) {
    if (graph_.type(result).shape != graph_.type(node.operands[0]).shape) return false;
    of(result) = of(node.operands[0]);
  }
  return true;
}

bool ChannelCoupling::follow(const Node& node) {
  const OpDef* op = node.op;
  const auto is_constant = [&](size_t i) { return graph_.constant(node.operands[i]) != nullptr; };
  if (op->pointwise) return pointwise(node), true;
  if (op == &linear_def) return is_constant(1) && (linear(node), true);
  if (op == &conv_def) return is_constant(1) && conv(node);
  if (op == &layer_norm_def || op == &rms_norm_def || op == &l2_normalise_def)
    return normalisation(node, graph_.type(node.operands[0]).rank() - 1), true;
  if (op == &batch_norm_def) return normalisation(node, 1), true;
  if (op == &attention_def) return attention(node);
  if (op == &gather_def) return gather(node);
  if (op == &max_pool_def || op == &avg_pool_def) return window(node), true;
  if (op == &reduce_mean_def || op == &reduce_sum_def || op == &reduce_max_def) return reduction(node);
  if (op == &mean_pool_def) {
    keep(of(node.operands[0])[1], name_of(node));
    of(node.results[0]) = {of(node.operands[0])[0], of(node.operands[0])[2]};
    return true;
  }
  if (op == &transpose_def) return transpose(node);
  if (op == &concat_def) return concat(node);
  if (op->view) return view(node);
  if (op->row) return row(node);
  return false;
}

void ChannelCoupling::visit(const Node& node) {
  const auto is_ranked = [&](ValueId id) { return id == kNone || graph_.type(id).ranked; };
  const bool known = node.subgraphs.empty() && std::ranges::all_of(node.operands, is_ranked) &&
                     std::ranges::all_of(node.results, is_ranked);
  if (!known || !follow(node)) barrier(node);
}

}  // namespace hone
