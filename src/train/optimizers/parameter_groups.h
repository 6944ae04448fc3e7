// Which constants of a model are trained, and how: rules in the order they are given, of which the first that matches a
// constant counts for it.
//   'embeddings=frozen'             names that the regular expression matches somewhere
//   'op:gather=rate:0.1'            constants that an op of that name reads
//   'classifier=rate:10,decay:0'    a factor on the rate, and a decay of its own
//   'embeddings=lazy'               rows of tables without a gradient in a step stay as they are, states and decay too
//   'cos|sin=trained'               tensors that are no parameters by themselves (train/parameters.h)
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "train/parameters.h"

namespace hone {

struct ParameterGroup {
  double rate_factor = 1, decay = 0;
  bool lazy = false;
  std::vector<ValueId> parameters;  // constants of the graph
};

struct GroupOptions {
  std::vector<std::string> rules;
  double decay = 0;
  bool decay_all = false;  // else biases, scales and shifts of normalisations have none without a rule
  std::vector<StoredTensor> untrainable = {};  // no constants of the graph: to be named with the others
};

struct TrainableConstants {
  std::vector<ParameterGroup> groups;  // of one rate, decay and laziness each
  std::vector<ValueId> frozen;         // could be trained; a rule says no
  std::vector<StoredTensor> others;    // no parameters, and why
};

// The parameters among the graph's constants. Throws Error for a rule that is none, or matches nothing, and where
// nothing is left to train.
TrainableConstants choose_trainable(const Graph& graph, const GroupOptions& options);

}  // namespace hone
