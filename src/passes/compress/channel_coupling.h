// What structured pruning follows through a graph: every index of every axis that weights have is a node of a forest,
// and each op unites those that can only stay or go together (coupled_channels.h).
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace hone {

// Indices of one axis, as nodes of the forest; empty: an axis that weights do not have (batch, places, words).
using Atoms = std::vector<int>;
using Axes = std::vector<Atoms>;

class AtomForest {
 public:
  int add() {
    parent_.push_back(static_cast<int>(parent_.size()));
    return parent_.back();
  }
  int find(int a) {
    while (parent_[static_cast<size_t>(a)] != a)
      a = parent_[static_cast<size_t>(a)] = parent_[static_cast<size_t>(parent_[static_cast<size_t>(a)])];
    return a;
  }
  void unite(int a, int b) {
    a = find(a), b = find(b);
    parent_[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
  }
  size_t size() const { return parent_.size(); }

 private:
  std::vector<int> parent_;
};

class ChannelCoupling {
 public:
  explicit ChannelCoupling(const Graph& graph);

  const Axes& axes(ValueId id) const { return axes_[static_cast<size_t>(id)]; }
  int root(int atom) { return forest_.find(atom); }
  const std::vector<std::pair<int, std::string>>& kept() const { return kept_; }  // what stays, and why
  const std::vector<int>& heads() const { return heads_; }                        // what is of heads of attention
  bool is_cut(ValueId constant, int axis) const { return !dropped_.contains({constant, axis}); }

 private:
  Axes& of(ValueId id) { return axes_[static_cast<size_t>(id)]; }
  void enter(ValueId id);
  void keep(const Atoms& atoms, const std::string& why);
  void keep(ValueId id, const std::string& why);
  void tie(const Atoms& a, const Atoms& b, const Node& node);
  std::string name_of(const Node& node) const;

  void visit(const Node& node);
  void barrier(const Node& node);
  bool follow(const Node& node);  // false: what it does to channels is not known
  void pointwise(const Node& node);
  void linear(const Node& node);
  bool conv(const Node& node);
  void normalisation(const Node& node, size_t axis);
  void keep_places(const Axes& x, const Node& node);
  bool attention(const Node& node);
  bool tie_heads(const Node& node, size_t heads, size_t readers = 1);
  bool gather(const Node& node);
  void window(const Node& node);
  bool reduction(const Node& node);
  bool transpose(const Node& node);
  bool view(const Node& node);
  bool map_run(const Axes& x, const Shape& from, size_t i0, size_t i, Axes& axes, const Shape& to, size_t j0, size_t j,
               const Node& node);
  std::string join(const Atoms& channels, const Dim& outer, const Dim& inner, Atoms& joined);
  std::string divide(const Atoms& channels, const Dim& outer, const Shape& to, const std::vector<size_t>& target,
                     Axes& axes);
  bool concat(const Node& node);
  bool row(const Node& node);

  const Graph& graph_;
  std::vector<Axes> axes_;
  AtomForest forest_;
  std::vector<std::pair<int, std::string>> kept_;
  std::vector<int> heads_;
  std::set<std::pair<ValueId, int>> dropped_;  // axes of constants that nothing is cut from
  std::map<std::pair<ValueId, size_t>, bool> seen_;
};

}  // namespace hone
