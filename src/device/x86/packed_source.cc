#include "device/x86/packed_source.h"

#include <algorithm>
#include <cstring>

namespace hone {

using Order = WeightCodec::Order;

PackedSource::PackedSource(const PanelLayout& layout, const Tensor& weights, int64_t first_row)
    : s_(layout),
      c_(*layout.codec),
      rows_(weights, layout.k),
      first_row_(first_row),
      end_row_(first_row + layout.n),
      scales_(layout.groups() * layout.codec->levels) {
  whole_ = holds_whole_lanes();
  if (whole_) make_table();
  if (c_.order == Order::interleaved) change_ = LaneChange::interleave;
  else if (whole_ && c_.order == Order::halves) change_ = LaneChange::split_nibbles;
}

void PackedSource::pack(int64_t first, std::byte* panel, int v) const {
  const int64_t rows = s_.code_rows(s_.k), row0 = first_row_ + first;
  Scratch scratch;
  scratch.lanes.resize(static_cast<size_t>(rows * s_.lanes));
  scratch.scale_codes.resize(static_cast<size_t>(s_.slots * scales_));
  const auto scales_of = [&](int64_t slot) {
    return std::span(scratch.scale_codes).subspan(static_cast<size_t>(slot * scales_), static_cast<size_t>(scales_));
  };
  for (int64_t slot = 0; slot < s_.slots && c_.scale_bytes(); ++slot)
    if (const int64_t row = row_of(slot, row0); row < end_row_) rows_.read_scales(row, scales_of(slot));
  store_scales(row0, scratch, panel + s_.scales_offset() + v * s_.scale_vector_bytes());
  LaneRows columns{};
  for (int64_t c = 0; c < s_.lanes; ++c) {
    uint32_t* lanes = scratch.lanes.data() + c * rows;
    columns[static_cast<size_t>(c)] = reinterpret_cast<const std::byte*>(lanes);
    const int64_t row = row0 + c;
    if (row >= end_row_) continue;
    columns[static_cast<size_t>(c)] = line(row, scales_of(slot_of(row, row0)), scratch, lanes);
    const auto number = static_cast<uint32_t>(s_.crossing_groups() ? row * s_.k % s_.group : slot_of(row, row0));
    if (s_.indexes_scales()) std::memcpy(panel + s_.numbers_offset() + (v * s_.lanes + c) * 4, &number, 4);
  }
  transpose_lanes(columns, s_.lanes, rows, change_, panel + int64_t{v} * s_.lanes * 4, s_.row_bytes());
  if (c_.has_global) std::memcpy(panel + s_.global_offset(), rows_.planes().global.data(), 4);
}

int64_t PackedSource::slot_of(int64_t row, int64_t row0) const {
  return s_.slots == 1 ? 0 : row / rows_.grid().rows - row0 / rows_.grid().rows;
}
int64_t PackedSource::row_of(int64_t slot, int64_t row0) const {
  return s_.slots == 1 ? row0 : std::max(row0, (row0 / rows_.grid().rows + slot) * rows_.grid().rows);
}

// Products with the infinity that decoders make of E8M0's NaN are NaN when every code is 0.
bool PackedSource::is_nan(uint32_t scale_code) const {
  return c_.scale.by == ScaleMeaning::By::power_of_two && c_.scale_recode[scale_code] == 255 && c_.zero_code >= 0;
}

void PackedSource::store_scales(int64_t row0, const Scratch& scratch, std::byte* out) const {
  for (int64_t slot = 0; slot < s_.slots; ++slot) {
    const int64_t row = row_of(slot, row0);
    if (row >= end_row_) break;
    for (int64_t i = 0; i < scales_ && c_.scale_bytes(); ++i) {
      const uint32_t code = scratch.scale_codes[static_cast<size_t>(slot * scales_ + i)];
      std::byte* to =
          out + i / c_.levels * s_.scale_row_bytes() + i % c_.levels * s_.level_bytes() + slot * c_.scale_bytes();
      const float outer = c_.two_level ? rows_.outer_scale(row, i / c_.levels, static_cast<int>(i % c_.levels)) : 0;
      const float of_levels = c_.two_level ? c_.scale.values[code] * outer : 0;
      if (c_.two_level) std::memcpy(to, &of_levels, sizeof of_levels);
      else if (!c_.scale_recode.empty()) *to = std::byte{c_.scale_recode[code]};
      else std::memcpy(to, &code, static_cast<size_t>(c_.scale_bytes()));
    }
    for (int64_t g = 0; g < s_.groups() && c_.zero_point_bytes; ++g) {
      const uint32_t zero = rows_.zero_point(row, g);
      std::memcpy(out + g * s_.scale_row_bytes() + s_.zero_points_offset() + slot * c_.zero_point_bytes, &zero,
                  static_cast<size_t>(c_.zero_point_bytes));
    }
  }
}

// Rows whose bytes, each translated, are the lanes.
bool PackedSource::holds_whole_lanes() const {
  const bool bytes = c_.bits == 4 || c_.bits == 8;
  return bytes && !rows_.across() && !s_.unaligned_groups() && rows_.layout().code_planes == 1 &&
         s_.k % c_.chunk_k() == 0 && rows_.first_bit(1) % 8 == 0;
}

void PackedSource::make_table() {
  const size_t codes = size_t{1} << c_.stored_bits;
  for (size_t byte = 0; byte < table_.size(); ++byte)
    table_[byte] = static_cast<uint8_t>(c_.recode[byte % codes] | (codes == 16 ? c_.recode[byte / 16] << 4 : 0));
  for (size_t byte = 0; byte < table_.size(); ++byte) translates_ |= table_[byte] != byte;
}

// The lanes of a row: in the plane when they are there, else in `lanes`.
const std::byte* PackedSource::line(int64_t row, std::span<const uint32_t> scale_codes, Scratch& scratch,
                                    uint32_t* lanes) const {
  auto* const bytes = reinterpret_cast<std::byte*>(lanes);
  if (c_.bits > 8) wide_line(row, scratch, lanes);
  else if (whole_ && std::ranges::none_of(scale_codes, [&](uint32_t code) { return is_nan(code); }))
    return whole_line(row, bytes);
  else narrow_line(row, scale_codes, scratch, lanes);
  return bytes;
}

const std::byte* PackedSource::whole_line(int64_t row, std::byte* lanes) const {
  const std::byte* codes = rows_.planes().codes.data() + rows_.first_bit(row) / 8;
  if (!translates_) return codes;
  translate(table_, codes, s_.k * c_.stored_bits / 8, lanes);
  return lanes;
}

// Up to 8 bits: read, translate, and put into the lanes of each chunk's planes.
void PackedSource::narrow_line(int64_t row, std::span<const uint32_t> scale_codes, Scratch& scratch,
                               uint32_t* lanes) const {
  const int64_t chunk = c_.chunk_k(), chunks = (s_.k + chunk - 1) / chunk;
  scratch.narrow.assign(static_cast<size_t>(chunks * chunk), 0);
  const auto codes = std::span(scratch.narrow).first(static_cast<size_t>(s_.k));
  rows_.read_codes(row, codes);
  for (uint8_t& code : codes) code = c_.recode[code];
  const int64_t begun = s_.crossing_groups() ? row * s_.k % s_.group : 0;  // elements of the first group in rows before
  for (int64_t g = 0; g < std::ssize(scale_codes); ++g) {
    if (!is_nan(scale_codes[static_cast<size_t>(g)])) continue;
    const auto edge = [&](int64_t group) { return std::clamp<int64_t>(group * s_.group - begun, 0, s_.k); };
    std::fill(codes.begin() + edge(g), codes.begin() + edge(g + 1), static_cast<uint8_t>(c_.zero_code));
  }
  // Where whole lines are split later, the lanes are still in their order.
  if (change_ == LaneChange::split_nibbles) {
    for (size_t i = 0; i < scratch.narrow.size(); i += 8) *lanes++ = joined_nibbles(scratch.narrow.data() + i);
  } else if (c_.order == Order::fields) {
    for (int64_t i = 0; i < chunks; ++i)
      lanes = split_fields(scratch.narrow.data() + i * chunk, c_.stored_bits, c_.field_bits, lanes);
  } else if (c_.order == Order::halves) {
    for (int64_t i = 0; i < chunks; ++i) lanes = split_planes(scratch.narrow.data() + i * chunk, c_.planes, lanes);
  } else {
    std::memcpy(lanes, scratch.narrow.data(), scratch.narrow.size());
  }
}

void PackedSource::wide_line(int64_t row, Scratch& scratch, uint32_t* lanes) const {
  scratch.wide.resize(static_cast<size_t>(s_.k));
  rows_.read_codes(row, std::span(scratch.wide));
  const int64_t chunk = c_.chunk_k();
  for (int64_t k = 0; k < s_.k; ++k) {
    uint32_t code = scratch.wide[static_cast<size_t>(k)];
    uint32_t* plane = lanes + k / chunk * c_.chunk_rows();
    for (const int width : c_.planes) {
      const int64_t bit = k % chunk * width;
      plane[bit / 32] |= (width < 32 ? code & ((1u << width) - 1) : code) << (bit % 32);
      plane += chunk * width / 32;
      if (width < 32) code >>= width;
    }
  }
}

}  // namespace hone
