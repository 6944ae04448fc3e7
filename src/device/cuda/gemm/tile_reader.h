// What a warp reads of weights that lie in tiles (weight_tiles.h), and the numbers it makes of them in registers.
//
// Pairs of bf16, by the cheapest of
//   bytes       integers of 8 bits: a byte under 0x43 is the bf16 number 128 + its low seven bits, less 128, or 256
//               where its sign is set
//   nibbles     integers of 4 bits, stored 8 more: under 0x4300, 136 more than what they are
//   fields      floats of 4 bits: their fields at their place in a bf16, times a power of two
//   numbers     all others: as f32 by the rule of the format (code_numbers.h)
// all exact, and scales that are powers of two with them. Numbers of f32 are always by the rule.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "device/cuda/emitter.h"
#include "device/cuda/gemm/weight_tiles.h"
#include "device/llvm/code_numbers.h"

namespace hone {

// How scales meet the products of bf16.
enum class PairScales : uint8_t {
  none,
  folded,  // multiplied into the weights, which stays exact
  on_sums  // of each group's products
};
PairScales pair_scales(const WeightTiles& tiles);

class TileReader {
 public:
  // `w`: where the weights lie, in global memory. Vectors of the emitter have 4 elements.
  TileReader(CudaEmitter& e, const WeightTiles& tiles, const std::string& format, llvm::Value* w);

  // All that pairs of one tile are made from, as a loop carries it; numbers of tiles are i32.
  Values read(llvm::Value* column_tile, llvm::Value* depth_tile);
  // Registers 0 and 1 of the s-th product of columns 8 j … 8 j + 7.
  std::pair<llvm::Value*, llvm::Value*> pairs(const Values& tile, int j, int s);
  // on_sums: how many groups a tile has, and f32 factors of the sums of columns 2 (lane % 4) and the next. A group that
  // has a minimum adds the sum of its activations times another factor.
  int groups() const { return groups_; }
  std::pair<llvm::Value*, llvm::Value*> factors(const Values& tile, int j, int group) {
    return factor(tile, j, group, 0);
  }
  bool has_minimums() const { return t_.meaning && t_.meaning->minimum_sign != 0; }
  std::pair<llvm::Value*, llvm::Value*> minimums(const Values& tile, int j, int group);

  // The codes alone of a tile of runs; and numbers 4 h … 4 h + 3 of its column 8 j, with scales, f32.
  Values read_codes(llvm::Value* column_tile, llvm::Value* depth_tile);
  llvm::Value* numbers(const Values& codes, llvm::Value* column_tile, llvm::Value* depth_tile, int j, int h);

  llvm::Value* global_scale();  // of all sums: on pairs; null where there is none
  PairScales scales() const { return scales_; }

 private:
  enum class By : uint8_t { plain, bytes, nibbles, fields, numbers };
  By choose_way() const;
  llvm::Value* code(const Values& words, int index);
  llvm::Value* codes(const Values& words, int first);  // four
  llvm::Value* byte_pair(llvm::Value* word, int half);
  llvm::Value* nibble_pair(llvm::Value* word, int p);
  llvm::Value* field_pair(llvm::Value* word, int p);
  std::pair<llvm::Value*, llvm::Value*> by_numbers(const Values& tile, int j, int s);
  std::pair<llvm::Value*, llvm::Value*> factor(const Values& tile, int j, int group, int level);
  // on_sums: the words of a group of columns 8 j …: factors of two columns, level by level, then a zero point.
  int group_words() const { return 2 * t_.levels() + (t_.zero_point_bytes() ? 1 : 0); }
  llvm::Value* scale_pair(const Values& tile, int j, int s);     // a word of two equal bf16, the unit with it
  llvm::Value* raw_scale(const Values& tile, int j, int group);  // folded
  llvm::Value* scale_number(llvm::Value* raw);                   // of a raw one, i32; without the tensor's
  llvm::Value* scale_index(llvm::Value* column_tile, llvm::Value* group_block, llvm::Value* column);
  llvm::Value* group_block(llvm::Value* depth_tile);
  llvm::Value* load_raw(llvm::Value* index, int bytes, int64_t offset, int alignment);
  CodeNumbers::Group group_of_run(llvm::Value* column_tile, llvm::Value* depth_tile, int j, int h);
  llvm::Value* group_of_code(llvm::Value* column, llvm::Value* depth_tile, int i);

  CudaEmitter& e_;
  const WeightTiles t_;
  llvm::Value* w_;
  std::unique_ptr<CodeNumbers> numbers_;
  PairScales scales_;
  int groups_;  // of a tile
  By by_;
  bool unit_in_scale_ = false;  // folded
};

}  // namespace hone
