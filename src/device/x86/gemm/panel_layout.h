// How the weights of a matrix product lie: what lays them out and the kernels that read them agree on this alone.
//
// W is cut into panels of `vectors * lanes` outputs (columns of the result). A panel is a sequence of rows of 32-bit
// lanes, one lane a column: f32, one row per k; bf16 pairs, one row per two k; codes that are multiplied as such
// (quads), one row per four k, followed by what corrects the sums of each column; codes, chunk_rows() rows per
// chunk_k() k of a scale group, each group starting a new chunk, followed by the scales of the panel, one row per
// group, and by what the columns are numbered with, where fewer scales than columns lie in a row. Panels start on 64
// bytes. The layout depends on the plan's n, k, formats and the target only, never on M: kernels for different M read
// the same prepacked weights.
#pragma once

#include <memory>

#include "base/multiples.h"
#include "device/x86/amx/tile_sizes.h"
#include "device/x86/gemm/plan.h"
#include "device/x86/target.h"
#include "device/x86/weight_codec.h"

namespace hone {

enum class PanelType : uint8_t { f32, pairs, quads };  // lanes of a panel
// Of the k of a panel that tiles take in one step.
constexpr int64_t step_k(PanelType type) { return type == PanelType::quads ? kTileStepBytes : kTileK; }

enum class GroupEnds : uint8_t {
  with_chunks,  // each group of scales starts a new chunk of codes
  in_chunks,    // groups end anywhere: codes lie as if there were none
  across_rows   // so too, and a column's first group has begun in the columns before it, k by k as its number says
};

struct PanelLayout {
  int64_t n = 0, k = 0;
  int lanes = 0, vectors = 0;                // of columns in a panel
  bool fills_steps = false;                  // panels of pairs and of quads have whole steps of tiles
  PanelType plain = PanelType::f32;          // of plain constant weights
  std::shared_ptr<const WeightCodec> codec;  // of packed ones
  int64_t group = 0;                         // k per scale; k when there is one scale or none
  GroupEnds group_ends = GroupEnds::with_chunks;
  int slots = 0;  // scales in a row of one vector of columns; where they are some, numbers say whose is whose

  int64_t panel_columns() const { return int64_t{vectors} * lanes; }
  int64_t panels() const { return ceil_div(n, panel_columns()); }
  int64_t row_bytes() const { return panel_columns() * 4; }
  bool unaligned_groups() const { return group_ends != GroupEnds::with_chunks; }
  bool crossing_groups() const { return group_ends == GroupEnds::across_rows; }
  // That a column has part in.
  int64_t groups() const { return group ? ceil_div(k, group) + crossing_groups() : 0; }
  // Rows of codes that k elements from the start of a group make.
  int64_t code_rows(int64_t elems) const { return ceil_div(elems, int64_t{codec->chunk_k()}) * codec->chunk_rows(); }
  bool indexes_scales() const { return crossing_groups() || (slots > 1 && slots < lanes); }
  int64_t level_bytes() const { return int64_t{slots} * codec->scale_bytes(); }  // of one level of a vector's scales
  int64_t zero_points_offset() const { return codec->levels * level_bytes(); }   // behind them
  int64_t scale_vector_bytes() const { return zero_points_offset() + int64_t{slots} * codec->zero_point_bytes; }
  int64_t scale_row_bytes() const { return vectors * scale_vector_bytes(); }
  int64_t rows_of(PanelType type, int64_t elems) const {  // of lanes that so many k make
    if (type == PanelType::f32) return elems;
    return ceil_div(fills_steps ? round_up(elems, step_k(type)) : elems, int64_t{type == PanelType::quads ? 4 : 2});
  }
  int64_t scales_offset() const;   // bytes of codes in a prepacked panel; of quads: before corrections
  int64_t numbers_offset() const;  // of the columns' numbers (i32) in a prepacked panel
  int64_t global_offset() const;   // of the tensor's global scale (f32) in a prepacked panel
  int64_t panel_bytes() const;     // of a prepacked panel
  bool operator==(const PanelLayout&) const = default;
};

PanelLayout panel_layout(const X86GemmPlan& plan, const X86Target& target);

}  // namespace hone
