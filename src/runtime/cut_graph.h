// Graphs whose sizes depend on data, in parts: what has sizes that follow from those of the inputs (the head), the
// nodes behind it that say how large things are (the turn), and what comes after, which is a graph like the first, with
// symbols for what the turn finds.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace hone {

struct CutGraph {
  Graph head;  // its outputs: what the others read, and what it has of the outputs of the whole
  struct Tail {
    Graph turn, rest;                  // their inputs are those of the whole, or outputs of the parts before, by label
    std::vector<std::string> outputs;  // those of the whole, in order: the labels of inputs or outputs of the parts
  };
  std::optional<Tail> tail;  // none: the whole is the head, and gives tensors of known ranks
};

// `undecided`: nodes that cannot be in the head, nor can what reads their results. Ids of values stay in all parts.
CutGraph cut_graph(const Graph& graph, const std::set<NodeId>& undecided);

// Nodes that own graphs, or work on what is no tensor of known rank, whatever the sizes.
std::set<NodeId> undecided_for_any_sizes(const Graph& graph);

// `graph` with its symbols bound and what follows from constants and shapes evaluated. Ids of values stay. Throws Error
// for a symbol of the inputs without a value.
struct SpecialisedGraph {
  Graph graph;
  Bindings sizes;              // those given, and those that followed
  std::set<NodeId> undecided;  // nodes whose results have sizes that depend on data, and what reads them
};
SpecialisedGraph specialised_graph(const Graph& graph, const Bindings& bindings);

// The parts of a graph as far as they are known without data.
struct SpecialisedParts {
  Graph head;                 // with constant shapes
  std::vector<NodeId> turns;  // of the whole: evaluated one by one
  std::vector<NodeId> later;  // of the whole: run with sizes that are found in between
};
SpecialisedParts specialised_parts(const Graph& graph, const Bindings& bindings);

}  // namespace hone
