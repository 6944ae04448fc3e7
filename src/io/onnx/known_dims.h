// What is known of small tensors while a graph is built: elements of integers as dimensions, and values that stay
// nodes. Models compute shapes from shapes; followed this way, a reshape to [shape(x)[0], -1] becomes a reshape to
// [B,-1].
#pragma once

#include <optional>
#include <unordered_map>

#include "ir/graph.h"

namespace hone {

class KnownDims {
 public:
  void note(const Graph& graph, NodeId node);  // call it for each node after it is added
  void set(ValueId value, Shape dims);
  // Of a scalar or vector of i64 or i32, at most kMaxElements long.
  std::optional<Shape> of(const Graph& graph, ValueId value) const;
  std::optional<Shape> elements(const Graph& graph, ValueId value) const;  // of such a tensor of any rank, in order

  // The value of a result that is computed from tensors of the file, which are weights perhaps: the node stays.
  void hold(ValueId value, Tensor tensor) { values_[value] = std::move(tensor); }
  const Tensor* value(const Graph& graph, ValueId value) const;  // that, or a constant's; nullptr for others

  static constexpr int64_t kMaxElements = 64;  // ranks, pairs of pads: far fewer

 private:
  std::unordered_map<ValueId, Shape> known_;
  std::unordered_map<ValueId, Tensor> values_;
  size_t held_ = 0;  // dimensions in known_
};

}  // namespace hone
