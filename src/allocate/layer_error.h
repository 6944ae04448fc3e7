// What rounding a weight does to its layer's output, from the second moments of the layer's inputs.
#pragma once

#include "ir/statistics.h"
#include "runtime/session.h"

namespace hone {

class LayerError {
 public:
  explicit LayerError(SessionOptions options);
  ~LayerError();

  // E|(W - V) x|^2 / E|W x|^2 over the inputs x that the statistics are of: tr(D H D^T) with D = W - V and H = E[x
  // x^T]. Without statistics (or without moments), as of a table that is looked up, H is the identity. W and V have one
  // shape; 0 where both numerator and denominator are.
  double operator()(const Tensor& plain, const Tensor& rounded, const LayerStatistics* statistics);

 private:
  double energy(std::span<const float> weights, const LayerStatistics& statistics);
  std::unique_ptr<Session> product_;  // [N,K] x [K,K]
};

}  // namespace hone
