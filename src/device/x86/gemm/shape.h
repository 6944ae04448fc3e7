// What planner, prepack and code generator agree on for a matrix product: the tile, the layout of weight panels, where
// codes are decoded, and how the work falls into items.
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

#include <variant>

#include "base/multiples.h"
#include "base/peaks.h"
#include "device/x86/gemm/panel_layout.h"
#include "device/x86/target.h"

namespace hone {

class X86Emitter;

// Rows for which sums run in several chains, where the tile has registers for them, and codes are decoded in the
// multiplying loop; beyond, decoding once into scratch costs less than decoding again for each strip of rows.
constexpr int64_t kFewRows = 8;

// Bytes between what is read next to each other by which it falls on two sets of a first-level cache of 64 sets of
// lines, so that eight strips of rows that share these lines each fetch them again. Measured: 72 GFLOP/s so, 93 else.
constexpr int64_t kCrowded = 2048;

// Where what is multiplied comes from, and what a kernel does with it.
struct DensePanels {          // as they lie in prepacked memory
  int64_t block_k = 0;        // multiplied at a time
  bool keeps = false;         // the first strip's tile leaves pairs in scratch as f32 for the others
  bool fetches_next = false;  // from memory, while a block of rows meets this one
  bool operator==(const DensePanels&) const = default;
};
struct StreamedCodes {  // decoded in the multiplying loop, for few rows: weights are read once
  int panels = 1;       // in an item: multiplied by one wide tile
  int64_t ahead = 0;    // so many bytes before they are decoded they are fetched
  bool operator==(const StreamedCodes&) const = default;
};
struct UnpackedCodes {        // decoded to scratch, then multiplied
  int64_t block_k = 0;        // at a time, a divisor of k
  bool fetches_next = false;  // as of dense panels
  int64_t ahead = 0;          // as of streamed codes, where few rows wait for all of a panel
  bool operator==(const UnpackedCodes&) const = default;
};
struct ActivationPanels {    // built in scratch from a matrix that is not constant
  int64_t block_k = 0;       // at a time
  bool adds_blocks = false;  // k may be more, or open
  // In an item: one after the other by what a block of k is of A, which so is read once.
  int panels = 1;
  bool operator==(const ActivationPanels&) const = default;
};
using PanelSource = std::variant<DensePanels, StreamedCodes, UnpackedCodes, ActivationPanels>;

// What becomes of rows of A, in scratch, before they meet a panel.
enum class LeftRows : uint8_t {
  as_they_lie,
  widened,  // bf16 becomes f32
  turned,   // A by columns, of bf16: what a block of k is of it becomes rows
  columns,  // A by columns, of f32: read so, and copied where they lie a multiple of kCrowded bytes apart
  codes     // laid out as code_form() says
};
enum class CodeForm : uint8_t { bytes, offset_bytes, words };  // offset: by 128

// How one kernel multiplies rows by panels.
struct GemmShape : PanelLayout {
  int rows = 0;    // a tile is at most rows x panel_columns()
  int chains = 1;  // a sum is the sum of so many, whose products lie as far apart in k
  ProductUnit unit = ProductUnit::f32;
  DType a = DType::f32;  // as it is multiplied: i16 where codes are words
  LeftRows left = LeftRows::as_they_lie;
  PanelSource source;
  int64_t most_rows = 0;  // of A in an item, about

  template <class Source>
  const Source* from() const {
    return std::get_if<Source>(&source);
  }
  bool integers() const { return is_integer(unit); }
  bool tiles() const { return unit == ProductUnit::bf16_tiles || unit == ProductUnit::int8_tiles; }
  bool pairs() const { return unit == ProductUnit::bf16 || unit == ProductUnit::bf16_tiles; }
  PanelType panel() const {  // as it is multiplied
    return from<DensePanels>() ? plain : pairs() ? PanelType::pairs : PanelType::f32;
  }
  // Sums of a group are scaled in the loop; otherwise scales are folded into what is decoded.
  bool scale_in_loop() const {
    return codec && codec->scale.by != ScaleMeaning::By::none &&
           (from<StreamedCodes>() || (pairs() && !codec->folds_into_pairs));
  }
  // Where only the tensor's global scale is left for the sums to be multiplied by.
  bool global_in_sums() const { return codec && codec->has_global && (scale_in_loop() || unpacks_pairs()); }
  bool unpacks_pairs() const { return from<UnpackedCodes>() && pairs(); }
  CodeForm code_form() const {
    if (unit == ProductUnit::int16) return CodeForm::words;
    return unit == ProductUnit::int8 && a == DType::i8 ? CodeForm::offset_bytes : CodeForm::bytes;
  }
  int64_t code_row_bytes() const { return round_up(k, tiles() ? step_k(plain) : 4) * size_bytes(a); }  // in scratch

  int64_t block_k() const;    // of W at a time
  bool adds_blocks() const;   // sums of a block of rows are kept in scratch from one block of k to the next
  int item_panels() const;    // panels of W in an item
  bool fetches_next() const;  // panel
  void take_all_k();          // of constant weights in one block
  int64_t panel_items() const { return (panels() + item_panels() - 1) / item_panels(); }  // items in a block of rows
  int64_t unpacked_bytes() const;                // of block_k() of a panel in scratch
  int64_t rows_bytes(int64_t block_rows) const;  // of the rows of A in scratch, first of all; a block of k of them
  int64_t column_bytes(int64_t block_rows) const { return round_up(block_rows, lanes) * 4 + 64; }  // of a copied column
  int64_t scratch_bytes(int64_t block_rows) const;  // and of a panel or a part of it, and of the sums of its blocks
  int64_t block_rows(int64_t m) const;              // rows of A in an item, of m
  bool operator==(const GemmShape&) const = default;
};

Support gemm_support(const GemmPlan& plan, const X86Target& target);
// For m rows of A; 0: more than kFewRows. `shrink`: how many times the tile has been made smaller than the rule's
// choice (X86KernelDef::can_shrink).
GemmShape gemm_shape(const X86GemmPlan& plan, const X86Target& target, int64_t m = 0, int shrink = 0);
// Of whoever multiplies its rows where they lie, as convolutions do: nothing is widened.
GemmShape panel_shape(const X86GemmPlan& plan, const X86Target& target);
inline int64_t gemm_case(int64_t m) { return m <= kFewRows ? m : 0; }  // what gemm_shape() asks for
int tile_chains(const GemmShape& shape, int64_t sums, bool avx512);    // of a tile with so many sums

// What one strip of A's rows is: the first `taller` of `count` have a row more than the others.
struct Strips {
  int64_t count, height, taller;
};
Strips strips_of(int64_t rows, int most);
// Whether m rows, and all from there to kFewRows, have the shape of more: kernels treat them alike.
bool multiplies_as_many(const X86GemmPlan& plan, const X86Target& target, int64_t m);
// The rows of a kernel that is made for m rows alone.
X86GemmPlan::Rows only_rows(const X86GemmPlan& plan, const X86Target& target, int64_t m);

// Whether pairs of bf16 go through the CPU's dot product, or are taken apart for f32 multiply-adds: what a tile of m
// rows (0: any number) and so many vectors takes, in units of one multiply-add of a vector. Taking a pair apart is two,
// which rows that are widened before don't need.
bool dot_pays(const X86Target& target, int64_t m, int vectors, bool widened_rows = false);

// Strips of nearly equal height, at most `most` rows, for m rows: 49 rows are 7 x 7, not 6 x 8 + 1.
int balanced_rows(int most, int64_t m);

// The share of its vectors that n columns fill.
inline double used_columns(int64_t n) { return static_cast<double>(n) / static_cast<double>(round_up(n, 16)); }

void emit_gemm(X86Emitter& e, const X86GemmPlan& plan, const std::string& symbol, int shrink);

}  // namespace hone
