// Pruning: a score for each weight (score.h), and what goes by it: single weights, N of M neighbours, or what the
// network computes as a whole, channels, heads, neurons (passes/compress/coupled_channels.h) and layers
// (passes/compress/network_layers.h), which makes it smaller.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/options.h"
#include "ir/graph.h"
#include "ir/statistics.h"
#include "prune/score.h"

namespace hone {

struct PruneOptions {
  double sparsity = -1;  // share that goes; -1: 0.5, or what N:M says
  std::string method = "l1";
  std::string structure = "none";       // N:M as 2:4, heads, neurons, channels or layers
  std::string scope = "local";          // each layer loses the share; global: all together
  std::vector<std::string> rule, skip;  // regular expressions of weights' names: what is pruned (all) and what is not
  int64_t seed = 1;
};
std::span<const OptionField<PruneOptions>> prune_fields();

// Error with the nearest names, and for numbers that are out of range or do not go together.
const ScoreDef& find_score(const PruneOptions& options);
void check_options(const PruneOptions& options);
bool is_structured(const PruneOptions& options);  // the model gets smaller

// What scores may need, by the labels of the weights; gradients are in the shape of the weight.
struct ScoreSources {
  std::optional<Statistics> statistics;
  std::map<std::string, Tensor> gradients;
};

// Linears and convs whose weight is plain and has a name, by rules: what is pruned.
std::vector<std::string> prunable_weights(const Graph& graph, const PruneOptions& options);

struct PrunedPart {
  std::string name;           // of a weight, a family of channels or a layer
  int64_t all = 0, gone = 0;  // weights, or units
  std::string kept_because;   // why nothing of it went
};
struct PrunedGraph {
  Graph graph;
  std::vector<PrunedPart> parts;
};

// `graph` is in canonical form. Masks are folded into the weights. Throws Error for layers that would be left
// empty, and where shapes that are the model's inputs or outputs would change: with the chain of layers that ties them.
PrunedGraph prune_weights(Graph graph, const PruneOptions& options, const ScoreSources& sources);

}  // namespace hone
