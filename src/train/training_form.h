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

// A stored tensor that lies otherwise in the training form, or is of fewer bits than training gives it: hone's layers
// have their own layouts. What was done to it, from the file on: its axes in another order, its elements in another
// shape, or of more bits.
struct Relaid {
  struct Reshaped {
    std::vector<int64_t> from, to;
  };
  using Step = std::variant<Permutation, Reshaped, DType>;  // DType: of fewer bits, which became f32
  std::string name;
  std::vector<int64_t> stored;  // its shape in the file
  DType type = DType::f32;      // what it is written as; f32 where its type there decides in what ops compute
  std::vector<Step> steps;
};

struct TrainingForm {
  Graph graph;
  std::vector<Relaid> relaid;
  std::vector<std::string> computed_in_own_type;  // tensors in whose type ops compute: they are f32 once trained
  std::vector<StoredTensor> others;  // that nothing trains: what bodies keep, integers that dequantize_linear reads
};

// Weights in bodies of if, loop and scan become captures; matrices of products lie as linear has them, [N,K]; vectors
// and windows as their readers have them.
TrainingForm training_form(Graph model);
Graph canonicalise_for_training(Graph model);  // its graph alone

// Tensors in the shapes and types that the file had, rounded to nearest, and what moves them in the graph, as it was.
// Those that are packed, or no longer there, are left out; of another size than they had, vectors and matrices keep
// their axes.
Graph in_stored_form(Graph graph, const std::vector<Relaid>& relaid);

// A value of the tensor of that name, as it is after it was written so and read again.
Tensor rounded_as_stored(const std::vector<Relaid>& relaid, const std::string& name, const Tensor& value);

// The shape that the file has the tensor in; `own` where it is in no other.
std::vector<int64_t> stored_shape(const std::vector<Relaid>& relaid, const std::string& name,
                                  const std::vector<int64_t>& own);

}  // namespace hone
