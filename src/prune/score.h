// What a weight is worth: the lowest go. One file each, found by its ScoreDef.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/statistics.h"
#include "ir/tensor.h"

namespace hone {

// Of one layer. Matrices have a row for each output, and the columns in the order of the statistics: of a conv, the
// channels of one tap together.
struct ScoreInput {
  const Tensor& weight;                         // f32
  const LayerStatistics* statistics = nullptr;  // of what it is multiplied with, with second moments: Needs::inputs
  const Tensor* gradient = nullptr;  // Needs::gradient: of the loss, the mean over the data; Needs::movement: the sum
                                     // of -w dL/dw over the steps of a descent
  uint64_t seed = 1;  // of this layer
  int64_t rows() const { return weight.dim(0); }
  int64_t columns() const { return weight.dim(1); }
};

// Which weights of a layer go.
struct Selection {
  double sparsity = 0;       // share of the layer
  int64_t keep = 0, of = 0;  // of each so many neighbours in a row, so many stay; 0: any
  bool by_row = false;       // each row loses the same share
};

struct ScoreDef {
  enum class Needs : uint8_t { nothing, inputs, gradient, movement };
  const char* name;
  const char* doc;
  Needs needs = Needs::nothing;
  bool by_row = false;  // weights are compared with those of their row, where the scope is local
  std::vector<float> (*score)(const ScoreInput&);  // of each element
  // The matrix with the weights gone, and what is left changed to make up for them. Null: what is left stays as it is.
  Tensor (*prune)(const ScoreInput&, const Selection&) = nullptr;
};

}  // namespace hone
