// What is between the products of an attention block: scores become weights, whose sums and largest scores are kept of
// each row.
//
// Scores are counted in units of ln 2, so that weights are powers of 2; a mask that is added counts in units of 1, as
// the lowest f32 would be -inf in others.
#pragma once

#include "device/cuda/attention/products.h"

namespace hone {

class AttentionSoftmax {
 public:
  AttentionSoftmax(const AttentionBlock& block, const AttentionProducts& products);

  // Of each row so far: the largest score, and the sum of this thread's weights.
  struct State {
    Values largest, total;
  };
  State begin() const;

  // Products with the keys from t on (i64) become weights; `alphas` are what sums of earlier keys are multiplied by.
  struct Weights {
    std::vector<Values> of_rows;
    Values alphas;
    State state;
  };
  Weights weights(std::vector<Values> scores, llvm::Value* t, const State& before);

  // The sums of all threads that share a row.
  Values totals(const State& state) const;
  // What the sums of a row are multiplied by, where the row has a sink's weight, too; and whether it saw no key (i1).
  struct Factor {
    llvm::Value *factor, *is_blind;
  };
  static Factor factor(const AttentionBlock& block, const AttentionBlock::Row& row, llvm::Value* largest,
                       llvm::Value* total);
  static llvm::Value* blind(const AttentionBlock& block);  // the result of such a row
  // What sums with this largest score are multiplied by, to join others whose largest is `largest`.
  static llvm::Value* rescale(const AttentionBlock& block, llvm::Value* before, llvm::Value* largest);

 private:
  std::vector<Values> masked(std::vector<Values> scores, llvm::Value* t, bool every_key);
  llvm::Value* transformed(llvm::Value* x, size_t row, llvm::Value* key);

  const AttentionBlock& block_;
  CudaEmitter& e_;
  const AttentionProducts& products_;
  Values masks_;                            // of rows, from key 0 on
  std::vector<AttentionBlock::Keys> seen_;  // by rows
};

}  // namespace hone
