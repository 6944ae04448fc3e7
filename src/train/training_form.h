// The form in which models are trained, pruned and given adapters: canonical, but for what only holds while weights
// stay what they are. Every tensor that the file stores is kept from the passes, which see its type and no value
// (docs/decisions/parameters-of-a-file.md), so that none is folded, merged with another or simplified away.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "ir/graph.h"
#include "ir/permutation.h"
#include "train/parameters.h"

namespace hone {

// A stored tensor that lies otherwise in the training form: hone's layers have their own layouts. What was done to
// it, from the file on: its axes in another order, its elements in another shape, or of more bits.
struct Relaid {
  struct Reshaped {
    std::vector<int64_t> from, to;
  };
  using Step = std::variant<Permutation, Reshaped, DType>;  // DType: of fewer bits, which became f32
  std::string name;
  std::vector<int64_t> stored;  // its shape in the file
  std::vector<Step> steps;
};

struct TrainingForm {
  Graph graph;
  std::vector<Relaid> relaid;
  std::vector<StoredTensor> others;  // that nothing trains: what bodies keep, integers that dequantize_linear reads
};

// Weights in bodies of if, loop and scan become captures; matrices of products lie as linear has them, [N,K]; vectors
// and windows as their readers have them.
TrainingForm training_form(Graph model);
Graph canonicalise_for_training(Graph model);  // its graph alone

// Tensors in the shapes that the file had, and what moves them in the graph, as it was. Those that are packed, or no
// longer there, are left out; of another size than they had, vectors and matrices keep their axes. What no longer is a
// number of fewer bits stays f32.
Graph in_stored_form(Graph graph, const std::vector<Relaid>& relaid);

// The shape that the file has the tensor in; `own` where it is in no other.
std::vector<int64_t> stored_shape(const std::vector<Relaid>& relaid, const std::string& name,
                                  const std::vector<int64_t>& own);

}  // namespace hone
