#include "passes/compress/coupled_channels.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/ranges.h>

#include "ops/calls/conv.h"
#include "ops/calls/linear.h"
#include "passes/compress/channel_coupling.h"

namespace hone {
namespace {

bool is_weight(const Graph& graph, ValueId id) { return !graph.value(id).label.empty() && graph.type(id).rank() >= 2; }

}  // namespace

std::vector<ChannelFamily> channel_families(const Graph& graph) {
  ChannelCoupling coupling(graph);
  std::map<int, std::string> why;
  for (const auto& [atom, text] : coupling.kept()) why.emplace(coupling.root(atom), text);
  std::set<int> heads;
  for (int atom : coupling.heads()) heads.insert(coupling.root(atom));
  std::map<int, ChannelUnit> units;
  for (ValueId id : graph.constants())
    for (size_t axis = 0; axis < coupling.axes(id).size(); ++axis) {
      if (!coupling.is_cut(id, static_cast<int>(axis))) continue;
      for (size_t i = 0; i < coupling.axes(id)[axis].size(); ++i) {
        const int unit = coupling.root(coupling.axes(id)[axis][i]);
        units[unit].slices.push_back({id, static_cast<int>(axis), static_cast<int64_t>(i)});
        units[unit].is_head = heads.contains(unit);
      }
    }
  std::map<ValueId, size_t> place;  // of the first node that reads it
  for (size_t n = 0; n < graph.nodes().size(); ++n)
    for (ValueId operand : graph.node(graph.nodes()[n]).operands)
      if (operand != kNone) place.emplace(operand, n);
  std::map<std::vector<std::pair<ValueId, int>>, ChannelFamily> families;
  for (auto& [unit, members] : units) {
    std::vector<std::pair<ValueId, int>> axes;
    for (const ChannelSlice& slice : members.slices)
      if (axes.empty() || axes.back() != std::pair(slice.constant, slice.axis))
        axes.emplace_back(slice.constant, slice.axis);
    ChannelFamily& family = families[axes];
    family.is_heads = family.is_heads || members.is_head;
    if (const auto found = why.find(unit); found != why.end()) family.kept_because = found->second;
    family.units.push_back(std::move(members));
  }
  std::vector<ChannelFamily> found;
  for (auto& [axes, family] : families) {
    auto order = axes;
    std::ranges::sort(order, {}, [&](const auto& a) { return place[a.first]; });
    for (const auto& [id, axis] : order) {
      if (!is_weight(graph, id)) continue;
      const std::string& label = graph.value(id).label;
      if (!std::ranges::count(family.layers, label)) family.layers.push_back(label);
      const OpDef* reader = graph.uses(id).empty() ? nullptr : graph.node(graph.uses(id)[0].node).op;
      if (axis != 0 || (reader != &linear_def && reader != &conv_def)) continue;
      family.producers.push_back(label);
      family.is_conv = family.is_conv || reader == &conv_def;
    }
    if (family.producers.empty()) continue;
    for (const auto& [id, axis] : axes)
      if (graph.constant(id)->is_packed())
        family.kept_because = fmt::format("{} is packed; prune before quantizing", graph.value(id).label);
    family.name = family.producers[0];
    found.push_back(std::move(family));
  }
  std::ranges::stable_sort(found, {}, [&](const ChannelFamily& f) { return place[graph.find_constant(f.name)]; });
  return found;
}

std::string chain_text(const ChannelFamily& family) {
  constexpr size_t kMostListed = 6;
  std::vector<std::string> layers = family.layers;
  if (layers.size() > kMostListed) {
    layers.resize(kMostListed);
    layers.push_back(fmt::format("{} more", family.layers.size() - kMostListed));
  }
  return fmt::format("{}{}{}", fmt::join(layers, " → "), family.kept_because.empty() ? "" : ": ", family.kept_because);
}

}  // namespace hone
