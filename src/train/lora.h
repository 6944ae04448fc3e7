// Training by low-rank adapters (passes/compress/lora.h): they and the last layer are trained, all else stays what it
// is.
#pragma once

#include <string>
#include <vector>

#include "passes/compress/lora.h"
#include "train/parameters.h"

namespace hone {

struct AdaptedModel {
  Graph graph;
  std::vector<std::string> rules;  // of parameter groups, behind those of the user's
  std::string what;                // "24 adapters, 147456 weights beside 22713216"
};

// `model` is in training form and has a last layer, which gets no adapter. Adds adapters where the options have a rule;
// without one the model has some. Throws Error as new_adapters() and attach_adapters() do.
AdaptedModel adapt_for_training(Graph model, LoraOptions options);

// Stored weights that no rule gives adapters, and why: adapters stand beside layers that read theirs as it lies.
std::vector<StoredTensor> unadapted_weights(const Graph& model);

}  // namespace hone
