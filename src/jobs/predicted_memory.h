// How much memory a run of a model takes at most, by what takes it: said before the run, from its plan.
#pragma once

#include <cstdint>

#include "kernels/lower.h"
#include "runtime/arena.h"

namespace hone {

struct PredictedMemory {
  int64_t opened = 0;        // the process with the model opened and its passes run: measured, not predicted
  int64_t panels = 0;        // weights laid out for kernels
  int64_t weight_pages = 0;  // of weights that are read where they lie, or while they are laid out
  int64_t arena = 0;         // activations
  int64_t scratch = 0;       // of kernels, all threads
  int64_t values = 0;        // inputs, outputs, what interpreted nodes compute on the way, and copies on the host
  int64_t code = 0;          // making machine code, and the code
  int64_t total() const { return opened + panels + weight_pages + arena + scratch + values + code; }
};

// Of the steps of `lowered`, run by up to `threads` threads. `graph` is what was lowered, with these options.
PredictedMemory predict_memory(const Graph& graph, const LoweredGraph& lowered, const Arena& arena,
                               const LowerOptions& options, int threads, int64_t opened_bytes);

}  // namespace hone
