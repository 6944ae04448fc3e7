// Runs a graph over calibration data and gathers what its weights are multiplied with.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/statistics.h"
#include "runtime/session.h"

namespace hone {

struct CollectOptions {
  bool moments = true;            // the second moments too: K x K numbers for each input of K elements
  std::vector<std::string> only;  // labels of the weights to look at; empty: all
  SessionOptions session;         // how the graph runs; compute: f32 when it says nothing, whatever the model states
  int64_t memory_bytes = int64_t{1} << 30;  // the graph runs several times where what it hands out would take more
};

// For each constant with a label that weighs a linear, a conv or a matmul, the statistics of the vectors that it is
// multiplied with, over all batches. Give the graph in the form in which passes will use them (canonicalise()). Where
// it has an input "attention_mask" [B,S], inputs [B,S,K] and [B*S,K] count at the tokens that it marks. Throws Error:
// no batches, no such weight, no such layer in the graph, no token that counts, an activation that is NaN or infinite
// (naming the layer), and whatever Session::run throws.
Statistics collect_statistics(const Graph& graph, std::span<const NamedTensors> batches,
                              const CollectOptions& options = {});

}  // namespace hone
