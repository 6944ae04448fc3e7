// Units of channels cut out of a graph (coupled_channels.h).
#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "ops/calls/attention.h"
#include "ops/calls/conv.h"
#include "ops/calls/reshape.h"
#include "passes/compress/channel_coupling.h"
#include "passes/compress/coupled_channels.h"

namespace hone {
namespace {

// The tensor without those indices along the axis.
Tensor without(const Tensor& tensor, int axis, const std::set<int64_t>& gone) {
  const auto at = static_cast<size_t>(axis);
  std::vector<int64_t> shape = tensor.shape();
  int64_t inner = size_bytes(tensor.dtype()), outer = 1;
  for (size_t i = 0; i < shape.size(); ++i)
    if (i != at) (i < at ? outer : inner) *= shape[i];
  const int64_t length = shape[at];
  shape[at] -= static_cast<int64_t>(gone.size());
  Tensor cut(tensor.dtype(), shape);
  const std::byte* from = tensor.data().bytes().data();
  std::byte* to = cut.mutable_data();
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < length; ++i, from += inner)
      if (!gone.contains(i)) to = std::copy_n(from, inner, to);
  return cut;
}

// How many indices of an axis are left.
int64_t left_of(ChannelCoupling& coupling, const Atoms& atoms, const std::set<int>& gone) {
  return std::ranges::count_if(atoms, [&](int atom) { return !gone.contains(coupling.root(atom)); });
}

}  // namespace

Graph remove_units(Graph graph, std::span<const ChannelUnit> units) {
  ChannelCoupling coupling(graph);
  std::map<std::pair<ValueId, int>, std::set<int64_t>> cuts;
  std::set<int> gone;
  for (const ChannelUnit& unit : units)
    for (const ChannelSlice& slice : unit.slices) {
      cuts[{slice.constant, slice.axis}].insert(slice.index);
      gone.insert(coupling.root(
          coupling.axes(slice.constant)[static_cast<size_t>(slice.axis)][static_cast<size_t>(slice.index)]));
    }
  for (NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (node.op == &attention_def) {
      const auto heads = node.attributes.get<int64_t>("heads");
      const Atoms& atoms = coupling.axes(node.operands[0]).back();
      if (atoms.empty()) continue;
      const int64_t left = left_of(coupling, atoms, gone) / (static_cast<int64_t>(atoms.size()) / heads);
      if (left == heads) continue;
      graph.set_attribute(id, "heads", left);
      if (node.attributes.has("kv_heads"))
        graph.set_attribute(id, "kv_heads", left * node.attributes.get<int64_t>("kv_heads") / heads);
    } else if (node.op == &conv_def && node.attributes.get_or<int64_t>("groups", 1) > 1) {
      const auto groups = node.attributes.get<int64_t>("groups");
      const Atoms& atoms = coupling.axes(node.operands[0])[1];
      if (atoms.empty()) continue;  // behind what mixes channels, all stay
      const int64_t left = left_of(coupling, atoms, gone) * groups / static_cast<int64_t>(atoms.size());
      if (left != groups) graph.set_attribute(id, "groups", left);
    } else if (node.op == &reshape_def && node.attributes.has("shape")) {
      Shape shape = node.attributes.get<Shape>("shape");
      const Axes& axes = coupling.axes(node.results[0]);
      bool changed = false;
      for (size_t i = 0; i < shape.size() && i < axes.size(); ++i) {
        const int64_t left = left_of(coupling, axes[i], gone);
        if (axes[i].empty() || left == static_cast<int64_t>(axes[i].size())) continue;
        if (shape[i].is_constant() && shape[i].constant() == static_cast<int64_t>(axes[i].size()))
          shape[i] = Dim(left), changed = true;
      }
      if (changed) graph.set_attribute(id, "shape", shape);
    }
  }
  for (const auto& [place, indices] : cuts) {
    const Tensor& tensor = *graph.constant(place.first);
    CHECK(!tensor.is_packed());
    if (static_cast<int64_t>(indices.size()) == tensor.dim(place.second))
      fail("nothing would be left of {}; prune less of it", graph.value(place.first).label);
    graph.set_constant(place.first, without(tensor, place.second, indices));
  }
  graph.reinfer();
  return graph;
}

}  // namespace hone
