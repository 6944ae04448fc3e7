// Gradients of a loss, as more nodes of the graph: reverse accumulation by the rules of gradients/.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/options.h"
#include "ir/graph.h"

namespace hone {

// The gradient of `loss` by each value of `by`, of its shape, f32 (f64 for f64): zeros where the loss does not depend
// on it. Only what lies between them is visited.
//   loss   a float of one element
//   by     plain floats
//   given  values that are taken as they are, whatever they are computed from
// Throws Error for others, and where an op on the way has no gradient, naming the node and why.
std::vector<ValueId> differentiate(Graph& graph, ValueId loss, std::span<const ValueId> by,
                                   std::span<const ValueId> given = {});

// What stands between values and the graph's outputs: what a model lacks to be trained.
struct Trainability {
  struct Obstacle {
    NodeId node;
    std::string why;
  };
  std::vector<Obstacle> obstacles;  // nodes on the way, through floats, that give no gradient
  std::vector<ValueId> reached;     // those of the values on which a float output depends
};
Trainability trainability(const Graph& graph, std::span<const ValueId> by);

std::vector<ValueId> trainable_parameters(const Graph& graph);  // plain floats among the parameters

struct DifferentiateOptions {
  std::string loss;  // label of an output; of a graph with one output, that one
  static constexpr const char* kPass = "differentiate";
  static std::span<const OptionField<DifferentiateOptions>> fields();
};

}  // namespace hone
