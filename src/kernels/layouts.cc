#include "kernels/layouts.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "kernels/shapes.h"
#include "ops/calls/transpose.h"

namespace hone {
namespace {

std::vector<int64_t> axes_in_order(size_t rank) {
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), int64_t{0});
  return axes;
}

class Placer {
 public:
  Placer(Graph graph, const Layouts& layouts, bool together, const TakesApart& takes)
      : graph_(std::move(graph)), layouts_(layouts), together_(together), takes_(takes) {}

  // Each round but the last puts in at least one copy, of which there are at most as many as operands and outputs.
  LaidGraph run() {
    for (size_t i = 0; i < graph_.outputs().size(); ++i)
      if (layout_of(i) && !is_written_alone(i)) copy_output(i);
    while (!all_follow() || !all_take()) {
    }
    return {std::move(graph_), std::move(apart_)};
  }

 private:
  const Shape* layout_of(size_t output) const {
    const Output& o = graph_.outputs()[output];
    const auto found = layouts_.outputs.find(o.label);
    return o.updates == kNone && found != layouts_.outputs.end() ? &found->second : nullptr;
  }

  bool is_view(NodeId n) const { return n != kNone && graph_.node(n).op->view; }
  ValueId root(ValueId v) const {
    while (is_view(graph_.producer(v))) v = graph_.operand(graph_.producer(v), 0);
    return v;
  }
  bool is_written_alone(size_t output) const {
    const ValueId own = root(graph_.outputs()[output].value);
    if (graph_.producer(own) == kNone || graph_.type(own).is_packed()) return false;
    return std::ranges::count_if(graph_.outputs(), [&](const Output& o) { return root(o.value) == own; }) == 1;
  }

  // How what is made of inputs and outputs by views lies; false where a copy was made instead.
  bool all_follow() {
    apart_.clear(), output_of_.clear();
    for (ValueId v : graph_.inputs())
      if (const auto found = layouts_.inputs.find(graph_.value(v).label); found != layouts_.inputs.end())
        apart_.emplace(v, found->second);
    for (size_t i = 0; i < graph_.outputs().size(); ++i)
      if (layout_of(i) && !output_follows(i)) return false;
    for (NodeId n : graph_.nodes()) {
      if (!is_view(n)) continue;
      const ValueId from = graph_.operand(n, 0), to = graph_.result(n);
      const auto found = apart_.find(from);
      if (found == apart_.end() || apart_.contains(to)) continue;
      const std::optional<Shape> strides = view_strides(graph_.type(from).shape, found->second, graph_.type(to).shape);
      if (!strides) {
        read_copy(n, 0);
        return false;
      }
      apart_.emplace(to, *strides);
      if (const auto output = output_of_.find(from); output != output_of_.end()) output_of_[to] = output->second;
    }
    return true;
  }

  bool output_follows(size_t output) {
    ValueId v = graph_.outputs()[output].value;
    Shape strides = *layout_of(output);
    for (;; v = graph_.operand(graph_.producer(v), 0)) {
      apart_[v] = strides, output_of_[v] = output;
      if (!is_view(graph_.producer(v))) return true;
      const ValueId from = graph_.operand(graph_.producer(v), 0);
      std::optional<Shape> own = view_strides(graph_.type(v).shape, strides, graph_.type(from).shape);
      if (!own) {
        copy_output(output);
        return false;
      }
      strides = std::move(*own);
    }
  }

  bool all_take() {
    bool all = true;
    for (const Group& group : fuse(graph_, together_)) {
      if (group.view || copies_.contains(group.nodes[0])) continue;  // a copy that is none of kernels is interpreted
      std::vector<std::pair<NodeId, int>> reads;
      std::set<size_t> writes;
      ApartValues dense_reads = apart_, dense_writes = apart_;
      const auto note_read = [&](NodeId n, int operand) {
        if (!apart_.contains(graph_.operand(n, operand))) return;
        dense_reads.erase(graph_.operand(n, operand));
        reads.emplace_back(n, operand);
      };
      for (NodeId n : group.nodes) {
        const Node& node = graph_.node(n);
        for (size_t i = 0; i < node.operands.size(); ++i) {
          note_read(n, static_cast<int>(i));
          const NodeId p = node.operands[i] == kNone ? kNone : graph_.producer(node.operands[i]);
          if (p != kNone && graph_.node(p).op == &transpose_def && !copies_.contains(p)) note_read(p, 0);  // through it
        }
        for (ValueId v : node.results)
          if (const auto output = output_of_.find(v); output != output_of_.end())
            writes.insert(output->second), dense_writes.erase(v);
      }
      if ((reads.empty() && writes.empty()) || takes_(graph_, apart_, group)) continue;
      all = false;
      const bool for_reads = takes_(graph_, dense_reads, group), for_writes = takes_(graph_, dense_writes, group);
      if (for_writes || !for_reads)
        for (size_t output : writes) copy_output(output);
      if (!for_writes)
        for (const auto& [n, i] : reads) read_copy(n, i);
    }
    return all;
  }

  void read_copy(NodeId n, int operand) {
    const ValueId v = graph_.operand(n, operand);
    if (const auto output = output_of_.find(v); output != output_of_.end()) return copy_output(output->second);
    ValueId& copy = copy_of_.try_emplace(v, kNone).first->second;
    if (copy == kNone) {
      const std::span<const NodeId> nodes = graph_.nodes();
      const NodeId producer = graph_.producer(v);
      graph_.set_insertion_point(
          producer == kNone ? nodes.front() : *std::next(std::ranges::find(nodes, producer)));  // `n` comes later
      copy = copied(v);
      graph_.set_insertion_point(kNone);
    }
    graph_.set_operand(n, operand, copy);
  }

  void copy_output(size_t output) {
    std::vector<Output> outputs(graph_.outputs().begin(), graph_.outputs().end());
    const ValueId v = outputs[output].value;
    if (copies_.contains(graph_.producer(v))) return;  // for another operand of its group
    outputs[output].value = copied(v);
    graph_.set_outputs(std::move(outputs));
  }

  ValueId copied(ValueId v) {
    const ValueId copy = ops::transpose(graph_, {.x = v, .perm = axes_in_order(graph_.type(v).rank())});
    graph_.rename(copy, graph_.value(v).name + "_copied");
    copies_.insert(graph_.producer(copy));
    return copy;
  }

  Graph graph_;
  const Layouts& layouts_;
  const bool together_;
  const TakesApart& takes_;
  ApartValues apart_;
  std::map<ValueId, size_t> output_of_;  // of those that lie as an output does
  std::map<ValueId, ValueId> copy_of_;
  std::set<NodeId> copies_;
};

}  // namespace

Layouts Layouts::substituted(Bindings sizes) const {
  for (const std::string& symbol : symbols) sizes.erase(symbol);
  Layouts result = *this;
  for (auto* values : {&result.inputs, &result.outputs})
    for (auto& [label, strides] : *values)
      for (Dim& stride : strides) stride = stride.substitute(sizes);
  return result;
}

std::optional<Shape> view_strides(const Shape& shape, const Shape& strides, const Shape& view) {
  const CollapsedLoops loops = collapse(shape, {strides});
  const Dim one = 1;
  Shape result(view.size(), one);
  size_t axis = view.size();
  for (size_t loop = loops.extents.size(); loop-- > 0;)
    for (Dim covered = one; !(covered == loops.extents[loop]); covered = covered * view[axis]) {
      if (axis-- == 0) return std::nullopt;
      result[axis] = loops.strides[0][loop] * covered;
    }
  const bool all = std::all_of(view.begin(), view.begin() + static_cast<std::ptrdiff_t>(axis),
                               [&](const Dim& extent) { return extent == one; });
  return all ? std::optional(std::move(result)) : std::nullopt;
}

bool is_copy(const Graph& graph, NodeId node) {
  const Node& n = graph.node(node);
  return n.op == &transpose_def && n.attributes.has("perm") &&
         n.attributes.get<std::vector<int64_t>>("perm") == axes_in_order(graph.type(n.results[0]).rank());
}

LaidGraph laid_graph(Graph graph, const Layouts& layouts, bool together, const TakesApart& takes) {
  return Placer(std::move(graph), layouts, together, takes).run();
}

}  // namespace hone
