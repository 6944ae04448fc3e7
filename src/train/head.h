// The last layer of a model, fitted to labels: kept where it has their width, replaced where it is a classifier of
// another width, added where the model ends in features.
#pragma once

#include <cstdint>
#include <string>

#include "ir/graph.h"

namespace hone {

struct HeadOptions {
  std::string head = "auto";  // or keep, replace, add
  std::string pooling =
      "auto";             // of features for each word: mean of those that attention_mask keeps, or first; auto: mean
  std::string output;     // label of the output that it stands behind; empty: found
  int64_t width = 0;      // classes, or numbers
  bool per_word = false;  // labels are of words
  uint64_t seed = 1;      // of its weights, uniform in ±1/sqrt(inputs) as torch.nn.Linear has them; biases are 0
};

struct FittedHead {
  Graph graph;  // whose only output is "logits", f32[rows, width] or [rows, words, width]
  bool made = false;
  std::string what;  // "classifier.weight [2,384] added behind last_hidden_state, mean over words"
};

// `model` is in canonical form. Throws Error where its output is nothing that a layer can stand behind.
FittedHead fit_head(Graph model, const HeadOptions& options);

}  // namespace hone
