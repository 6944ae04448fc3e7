// How constant weights [N,K] lie for CUDA's products: what lays them out and the kernels that read them agree on this
// alone.
//
// W is cut into tiles of `columns` outputs x `depth` inputs, all k of some columns one behind the other. A tile is what
// one warp reads at once: 32 codes of each lane, which are `bits` words of 32 bits. Lane l holds columns l / 4 + 8 j
// of a tile, and of each of them the k that its registers of a product want:
//
//   fragments  16 x 64, for mma.sync: code 16 j + 4 s + 2 r + e is k = 16 s + 8 r + 2 (l % 4) + e, register r of the
//              s-th product
//   runs       32 x 32, for f32: code 8 j + i is k = 8 (l % 4) + i
//
// Codes follow each other bit by bit, but those of 4 bits in fragments, where the two of a register lie 16 bits apart.
// Words lie as vectors of 4, 2 or 1 of them, those of all lanes side by side, so that a warp reads whole lines. Plain
// weights are codes of 16 or 32 bits. Behind all tiles lie scales and zero points, by tile, by group (those of one
// depth side by side) and by column, and in the end the tensor's scale. Scales of two levels lie as the f32 that they
// come to; a minimum is a group's second scale.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/multiples.h"
#include "ir/tensor.h"
#include "kernels/code_meaning.h"
#include "kernels/gemm/plan.h"

namespace hone {

enum class TileOrder : uint8_t { fragments, runs };

struct WeightTiles {
  int64_t n = 0, k = 0;
  TileOrder order = TileOrder::runs;
  int bits = 32;                         // of a stored code
  const CodeMeaning* meaning = nullptr;  // of packed ones, kept for good
  bool nibble_pairs = false;             // codes of a register 16 bits apart
  uint32_t flipped = 0;                  // bits that are inverted in what is stored
  int64_t group = 0;                     // k of a scale; k where there is one or none
  bool crossing = false;                 // groups go on from one column to the next
  int slots = 1;                         // scales of a group in a tile: one, or one a column

  int columns() const { return order == TileOrder::fragments ? 16 : 32; }
  int depth() const { return order == TileOrder::fragments ? 64 : 32; }
  int64_t column_tiles() const { return ceil_div(n, int64_t{columns()}); }
  int64_t depth_tiles() const { return ceil_div(k, int64_t{depth()}); }
  int64_t tile_bytes() const { return 128 * bits; }
  int64_t groups() const { return group ? ceil_div(k, group) + crossing : 0; }  // that a column has part in
  // Whether each tile has whole groups, or is of one.
  bool groups_fit() const { return !crossing && (groups() <= 1 || depth() % group == 0 || group % depth() == 0); }
  int block_groups() const {  // that lie side by side
    return groups_fit() && groups() > 1 && group < depth() ? static_cast<int>(depth() / group) : 1;
  }
  int64_t group_blocks() const { return ceil_div(groups(), int64_t{block_groups()}); }
  int scale_bytes() const;  // of one level
  int levels() const { return meaning ? meaning->levels : 1; }
  int zero_point_bytes() const { return meaning ? meaning->zero_point_bytes : 0; }
  // Of the number of a scale: of a tile of columns, a group, a column in the tile.
  int64_t scale_number(int64_t tile, int64_t g, int64_t column) const {
    const int64_t side_by_side = block_groups();
    return ((tile * group_blocks() + g / side_by_side) * slots + (slots > 1 ? column : 0)) * side_by_side +
           g % side_by_side;
  }
  int64_t scales() const { return column_tiles() * group_blocks() * slots * block_groups(); }
  int64_t scales_offset() const { return column_tiles() * depth_tiles() * tile_bytes(); }
  int64_t zero_points_offset() const { return round_up(scales_offset() + scales() * levels() * scale_bytes(), 16); }
  int64_t global_offset() const { return round_up(zero_points_offset() + scales() * zero_point_bytes(), 16); }
  int64_t bytes() const { return global_offset() + (meaning && meaning->has_global ? 16 : 0); }

  struct CodePlace {  // of a code of a tile: the lane, and which of its 32
    int lane, index;
  };
  CodePlace place(int column, int depth) const;
  int first_bit(int index) const;                 // in a lane's words
  int64_t word_offset(int word, int lane) const;  // bytes, in a tile
  bool operator==(const WeightTiles&) const = default;
};

// The words of a lane as loads take them: a vector of `count` words from `first` on.
struct WordRun {
  int first, count;
};
std::vector<WordRun> word_runs(int bits);

// Whether the codes of a format, less their zero points, go through products of bf16 exactly, and each group's scale is
// that of whole products: weights of such a format lie as fragments where the device has those.
bool multiplies_as_bf16(const Format& format, int64_t k);

WeightTiles weight_tiles(const GemmPlan& plan, TileOrder order);

std::string weight_tiles_key(const WeightTiles& tiles, const GemmPlan& plan);
// Codes of one row, of which there is one a k.
using CodeRow = std::function<void(int64_t row, std::span<uint32_t> codes)>;
// Plain weights in whichever order they come.
void lay_out_tiles(const WeightTiles& tiles, const CodeRow& read, int threads, std::byte* out);
// Rows [first_row, first_row + n) of a matrix.
void lay_out_tiles(const WeightTiles& tiles, const Tensor& weights, int64_t first_row, int threads, std::byte* out);

}  // namespace hone
