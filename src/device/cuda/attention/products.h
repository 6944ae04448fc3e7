// Products of an attention block in registers: its queries with a tile of keys, and weights with the tile's values.
//
// A thread has some rows of the block, and of each the same keys of a tile and the same columns of the result; threads
// whose lanes differ in some bits have the others of these rows.
#pragma once

#include <memory>

#include "device/cuda/attention/block.h"

namespace hone {

class AttentionProducts {
 public:
  virtual ~AttentionProducts() = default;

  Values rows;                // numbers in the block, i64
  Values keys;                // numbers in a tile, i32
  Values columns;             // of the first of each run of `run` columns, i32
  int run = 1;                // columns side by side
  std::vector<int> partners;  // what lanes that share rows differ in
  size_t sums() const { return columns.size() * static_cast<size_t>(run); }  // of a row

  // Behind the barrier that queries are there at; once.
  virtual void load_queries() {}
  // Of each row, of each of its keys.
  virtual std::vector<Values> scores(llvm::Value* keys) = 0;
  // sums (row by row) + weights times values.
  virtual Values add_values(Values sums, const std::vector<Values>& weights, llvm::Value* values) = 0;
};

std::unique_ptr<AttentionProducts> attention_products_mma(const AttentionBlock& block);
std::unique_ptr<AttentionProducts> attention_products_fma(const AttentionBlock& block);

}  // namespace hone
