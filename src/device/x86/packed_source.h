// Packed weights [N,K] as a source of panels (device/x86/gemm/panel_layout.h): what a format has stored becomes codes
// and scales where the kernels want them. Reads any geometry; how fast depends on how much the two layouts have in
// common.
#pragma once

#include <vector>

#include "device/x86/byte_table.h"
#include "device/x86/gemm/panel_layout.h"
#include "device/x86/lane_layout.h"
#include "ir/tensor.h"
#include "kernels/packed_rows.h"

namespace hone {

class PackedSource {
 public:
  // Column 0 of panel 0 is row `first_row` of the weights.
  PackedSource(const PanelLayout& layout, const Tensor& weights, int64_t first_row);

  // Columns [first, first + lanes), of which some exist, become vector `v` of the zeroed `panel`.
  void pack(int64_t first, std::byte* panel, int v) const;

 private:
  struct Scratch {
    std::vector<uint32_t> lanes;        // of each column
    std::vector<uint32_t> scale_codes;  // of each slot, all groups, all levels
    std::vector<uint32_t> wide;         // codes of one column
    std::vector<uint8_t> narrow;
  };

  bool holds_whole_lanes() const;
  void make_table();
  int64_t slot_of(int64_t row, int64_t row0) const;
  int64_t row_of(int64_t slot, int64_t row0) const;
  bool is_nan(uint32_t scale_code) const;
  void store_scales(int64_t row0, const Scratch& scratch, std::byte* out) const;

  const std::byte* line(int64_t row, std::span<const uint32_t> scale_codes, Scratch& scratch, uint32_t* lanes) const;
  const std::byte* whole_line(int64_t row, std::byte* lanes) const;
  void narrow_line(int64_t row, std::span<const uint32_t> scale_codes, Scratch& scratch, uint32_t* lanes) const;
  void wide_line(int64_t row, Scratch& scratch, uint32_t* lanes) const;

  const PanelLayout& s_;
  const WeightCodec& c_;
  const PackedRows rows_;
  int64_t first_row_, end_row_;
  int64_t scales_;  // of a slot
  LaneChange change_ = LaneChange::none;
  bool whole_ = false, translates_ = false;
  ByteTable table_{};  // of bytes of codes, when whole_
};

}  // namespace hone
