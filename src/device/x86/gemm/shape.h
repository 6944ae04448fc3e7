// What planner, prepack and code generator agree on for a matrix product: the tile, the layout of weight panels, where
// codes are decoded, and how the work falls into items.
//
// W is cut into panels of `vectors * lanes` outputs (columns of the result). A panel is a sequence of rows of 32-bit
// lanes, one lane a column: f32, one row per k; bf16 pairs, one row per two k; codes that are multiplied as such
// (quads), one row per four k, followed by what corrects the sums of each column; codes, chunk_rows() rows per
// chunk_k() k of a scale group, each group starting a new chunk, followed by the scales of the panel, one row per
// group, and by what the columns are numbered with, where fewer scales than columns lie in a row. Panels start on 64
// bytes. The layout depends on the plan's n, k, formats and the target only, never on M: kernels for different M read
// the same prepacked weights.
//
// What decides bits (where codes are decoded, the unit of the products, how many chains a sum runs in) follows from M
// by a rule that whoever makes a call and every kernel share: a few rows each have a shape of their own, more have one.
// Rows of a block are cut into strips of nearly equal height, which decides no bits.
//
// Tile registers multiply two tiles of rows by two of columns: strips of up to 32 rows, in two halves, by panels of 32
// columns (or 16, where there are no more). One step takes 64 bytes of each row of A, 32 k of bf16 or 64 of codes;
// panels are filled up to that with zeros. They read the panel a block of k at a time, which stays in the first-level
// cache while all rows of the block meet it.
//
// Where bf16 operands are multiplied in f32, what many tiles read is made f32 once, in scratch: the rows of A of a
// block before they meet a panel, and a panel of W by the first strip, while it is multiplied. What is left is the loop
// of f32.
//
// Codes of A are laid out anew in scratch for whatever multiplies them, before they meet a panel. The CPU's dot product
// of bytes takes one factor without sign: i8 are offset by 128 there, and 128 times the sum of each column's weights is
// what its sum begins with, negated. Where there is no such unit, codes become words, and a lane of four weights is
// taken apart into two of words in the loop: exact either way. Tile registers multiply codes of both signs, and read
// them where they lie if a row has whole steps.
#pragma once

#include <memory>
#include <vector>

#include "base/multiples.h"
#include "base/peaks.h"
#include "device/x86/amx/tile_sizes.h"
#include "device/x86/target.h"
#include "device/x86/weight_codec.h"
#include "kernels/gemm/plan.h"

namespace hone {

class X86Emitter;
using Emitter = X86Emitter;

// Rows for which sums run in several chains, where the tile has registers for them, and codes are decoded in the
// multiplying loop; beyond, decoding once into scratch costs less than decoding again for each strip of rows.
constexpr int64_t kFewRows = 8;

// Bytes between what is read next to each other by which it falls on two sets of a first-level cache of 64 sets of
// lines, so that eight strips of rows that share these lines each fetch them again. Measured: 72 GFLOP/s so, 93 else.
constexpr int64_t kCrowded = 2048;

enum class PanelType : uint8_t { f32, pairs, quads };  // what the multiplying loop reads
enum class WeightSource : uint8_t {
  dense,      // panels as they lie in prepacked memory
  codes,      // decoded in the multiplying loop (few rows: weights are streamed once)
  unpacked,   // a panel of codes is decoded to scratch, then multiplied (many rows)
  activation  // a panel, or block_k of it, is built in scratch from a matrix that is not constant
};

struct GemmShape {
  int64_t n = 0, k = 0;
  int lanes = 0, vectors = 0, rows = 0;  // a tile is at most rows x (vectors * lanes)
  int chains = 1;                        // a sum is the sum of so many, whose products lie as far apart in k
  bool integers = false;                 // codes are multiplied
  bool offset = false;                   // those of A 128 too large
  bool dot = false;                      // dot products of the CPU are used, of bf16 or of bytes
  bool tiles = false;                    // by tile registers
  bool fills_steps = false;              // panels of pairs and of quads have whole steps
  DType a = DType::f32;                  // as it is multiplied
  bool widens_rows = false;              // rows of bf16 are made f32 in scratch first
  PanelType panel = PanelType::f32;      // of W as it is multiplied
  PanelType plain = PanelType::f32;      // of plain constant weights as they lie
  bool keeps_panel = false;              // the first strip's tile leaves them in scratch as f32 for the others
  bool fetches_panel = false;            // the next one, from memory, while a block of rows meets this one
  WeightSource source = WeightSource::dense;
  std::shared_ptr<const WeightCodec> codec;  // null: plain weights
  int64_t group = 0;                         // k per scale; k when there is one scale or none
  bool unaligned_groups = false;             // groups end inside a chunk: codes lie as if there were none
  bool crossing_groups = false;  // a column's first group has begun in the columns before it, k by k as its number says
  int slots = 0;  // scales in a row of one vector of columns; where they are some, numbers say whose is whose
  bool scale_in_loop = false;  // sums of a group are scaled in the loop; otherwise scales are in the panel
  // Decoded or built in scratch at a time, then multiplied and added. Unpacked: a divisor of k. Activation: k may be
  // more, or open.
  int64_t block_k = 0;
  int64_t most_rows = 0;     // of A in an item, about
  bool adds_blocks = false;  // sums of a block of rows are kept in scratch from one block of k to the next
  // Panels of W in an item. Codes: multiplied by one wide tile. Activation: one after the other by what a block of k is
  // of A, which so is read once.
  int item_panels = 1;
  int64_t codes_ahead = 0;  // so many bytes before they are decoded in the loop they are fetched
  bool turns_rows = false;  // A by columns, of bf16: what a block of k is of it becomes rows in scratch first
  // A by columns, of f32: where they lie a multiple of kCrowded bytes apart, it is copied to scratch first.
  bool copies_columns = false;

  int64_t panel_columns() const { return int64_t{vectors} * lanes; }
  int64_t panels() const { return (n + panel_columns() - 1) / panel_columns(); }
  int64_t groups() const { return group ? (k + group - 1) / group + crossing_groups : 0; }  // that a column has part in
  // Rows of codes that k elements from the start of a group make.
  int64_t code_rows(int64_t elems) const {
    return (elems + codec->chunk_k() - 1) / codec->chunk_k() * codec->chunk_rows();
  }
  bool indexes_scales() const { return crossing_groups || (slots > 1 && slots < lanes); }
  int64_t level_bytes() const { return int64_t{slots} * codec->scale_bytes(); }  // of one level of a vector's scales
  int64_t zero_points_offset() const { return codec->levels * level_bytes(); }   // behind them
  int64_t scale_vector_bytes() const { return zero_points_offset() + int64_t{slots} * codec->zero_point_bytes; }
  int64_t scale_row_bytes() const { return vectors * scale_vector_bytes(); }
  // Where only the tensor's global scale is left for the sums to be multiplied by.
  bool global_in_sums() const {
    return codec && codec->has_global &&
           (scale_in_loop || (source == WeightSource::unpacked && panel == PanelType::pairs));
  }
  int64_t panel_items() const { return (panels() + item_panels - 1) / item_panels; }  // items in a block of rows
  int64_t row_bytes() const { return panel_columns() * 4; }
  int64_t step_k() const { return integers ? kTileStepBytes : kTileK; }  // of tiles
  int64_t rows_of(PanelType type, int64_t elems) const {                 // of lanes that so many k make
    if (type == PanelType::f32) return elems;
    return ceil_div(fills_steps ? round_up(elems, step_k()) : elems, int64_t{type == PanelType::quads ? 4 : 2});
  }
  bool copies_codes() const { return integers && (!tiles || k % step_k() != 0); }
  int64_t code_row_bytes() const { return round_up(k, tiles ? step_k() : 4) * size_bytes(a); }  // of those in scratch
  int64_t scales_offset() const;                 // bytes of codes in a prepacked panel; of quads: before corrections
  int64_t numbers_offset() const;                // of the columns' numbers (i32) in a prepacked panel
  int64_t global_offset() const;                 // of the tensor's global scale (f32) in a prepacked panel
  int64_t panel_bytes() const;                   // of a prepacked panel
  int64_t unpacked_bytes() const;                // of block_k of a panel in scratch
  int64_t rows_bytes(int64_t block_rows) const;  // of the rows of A in scratch, first of all; a block of k of them
  int64_t column_bytes(int64_t block_rows) const { return round_up(block_rows, lanes) * 4 + 64; }  // of a copied column
  int64_t scratch_bytes(int64_t block_rows) const;  // and of a panel or a part of it, and of the sums of its blocks
  int64_t block_rows(int64_t m) const;              // rows of A in an item, of m
  bool operator==(const GemmShape&) const = default;
};

inline ProductUnit unit_of(const GemmShape& s) {
  if (s.integers) return s.tiles ? ProductUnit::int8_tiles : s.dot ? ProductUnit::int8 : ProductUnit::int16;
  return s.tiles ? ProductUnit::bf16_tiles : s.dot ? ProductUnit::bf16 : ProductUnit::f32;
}

Support gemm_support(const GemmPlan& plan, const Target& target);
// For m rows of A; 0: more than kFewRows. `shrink`: how many times the tile has been made smaller than the rule's
// choice (X86KernelDef::can_shrink).
GemmShape gemm_shape(const GemmPlan& plan, const Target& target, int64_t m = 0, int shrink = 0);
// Of whoever multiplies its rows where they lie, as convolutions do, or only lays weights out: nothing is widened.
GemmShape panel_shape(const GemmPlan& plan, const Target& target);
inline int64_t gemm_case(int64_t m) { return m <= kFewRows ? m : 0; }  // what gemm_shape() asks for
int tile_chains(const GemmShape& shape, int64_t sums, bool avx512);    // of a tile with so many sums

// What one strip of A's rows is: the first `taller` of `count` have a row more than the others.
struct Strips {
  int64_t count, height, taller;
};
Strips strips_of(int64_t rows, int most);
// Whether m rows, and all from there to kFewRows, have the shape of more: kernels treat them alike.
bool multiplies_as_many(const GemmPlan& plan, const Target& target, int64_t m);
// The rows of a kernel that is made for m rows alone.
GemmPlan::Rows only_rows(const GemmPlan& plan, const Target& target, int64_t m);

// Whether pairs of bf16 go through the CPU's dot product, or are taken apart for f32 multiply-adds: what a tile of m
// rows (0: any number) and so many vectors takes, in units of one multiply-add of a vector. Taking a pair apart is two,
// which rows that are widened before don't need.
bool dot_pays(const Target& target, int64_t m, int vectors, bool widened_rows = false);

// Strips of nearly equal height, at most `most` rows, for m rows: 49 rows are 7 x 7, not 6 x 8 + 1.
int balanced_rows(int most, int64_t m);

// The share of its vectors that n columns fill.
inline double used_columns(int64_t n) { return static_cast<double>(n) / static_cast<double>(round_up(n, 16)); }

void emit_gemm(Emitter& e, const GemmPlan& plan, const std::string& symbol, int shrink);

}  // namespace hone
