// Which channels of a network can only go together: the dependency graph of structured pruning. Every index of every
// axis that weights have is a node; ops tie them, one by one: a linear the columns of its weight to the channels of its
// input, an addition both operands' channels, a concatenation those of its parts to a range of its result's, attention
// all channels of a head in q, k, v and what follows. What is tied is a unit: it stays or goes as a whole, in every
// tensor. Fang et al., "DepGraph: Towards Any Structural Pruning" (2023), by single indices instead of layers.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace hone {

// An index along an axis of a constant.
struct ChannelSlice {
  ValueId constant;
  int axis;
  int64_t index;
  bool operator==(const ChannelSlice&) const = default;
  auto operator<=>(const ChannelSlice&) const = default;
};

struct ChannelUnit {
  std::vector<ChannelSlice> slices;  // in order
  bool is_head = false;              // of attention
};

// Units with slices along the same axes of the same constants: they are compared with each other.
struct ChannelFamily {
  std::string name;                    // of the first layer that computes them
  std::vector<std::string> layers;     // that are tied in them, in order: labels of weights
  std::vector<std::string> producers;  // of these the ones that compute the channels
  std::vector<ChannelUnit> units;
  std::string kept_because;  // why none of them can go: "they are the model's output \"logits\""; empty: they can
  bool is_heads = false;
  bool is_conv = false;  // a conv computes them
};

// Of a graph in canonical form.
std::vector<ChannelFamily> channel_families(const Graph& graph);

// "layer.a → layer.b → layer.c, they are the model's output …": why it can't be pruned.
std::string chain_text(const ChannelFamily& family);

// The graph without those units: constants are cut, and attributes that count channels follow. Bug where a unit's
// family says why it stays; Error where nothing of a constant would be left.
Graph remove_units(Graph graph, std::span<const ChannelUnit> units);

}  // namespace hone
