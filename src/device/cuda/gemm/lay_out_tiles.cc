// Tiles of weight_tiles.h from plain weights or from the planes of a packed tensor: a tile of columns at a time, whose
// rows of W become codes of 32 bits, which then are put into the words of their lanes.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "base/threads.h"
#include "device/cuda/gemm/weight_tiles.h"
#include "ir/lying_bytes.h"
#include "kernels/packed_rows.h"

namespace hone {
namespace {

// Where each code of a tile goes.
struct CodeTarget {
  int64_t word;     // byte offset in the tile
  int shift, rest;  // bits up; and, where a code ends in the next word, how many of its bits are in the first
  int64_t next;
};

class TileWriter {
 public:
  // `packed`: those of packed weights, whose row 0 of the tiles is `first_row`.
  TileWriter(const WeightTiles& tiles, CodeRow read, const PackedRows* packed, int64_t first_row)
      : t_(tiles), read_(std::move(read)), rows_(packed), first_row_(first_row) {
    for (int column = 0; column < t_.columns(); ++column)
      for (int d = 0; d < t_.depth(); ++d) targets_.push_back(target_of(column, d));
  }

  void write(int64_t tile, std::byte* out) const {
    std::vector<uint32_t> codes(static_cast<size_t>(t_.depth_tiles() * t_.depth()));
    std::byte* const codes_of_tile = out + tile * t_.depth_tiles() * t_.tile_bytes();
    const int64_t columns = std::min<int64_t>(t_.columns(), t_.n - tile * t_.columns());
    for (int column = 0; column < t_.columns(); ++column) {
      std::ranges::fill(codes, padding());
      if (column < columns) read_(tile * t_.columns() + column, std::span(codes).first(static_cast<size_t>(t_.k)));
      put_column(column, codes, codes_of_tile);
    }
    if (t_.meaning) write_scales(tile, columns, out);
  }

  void write_global(std::byte* out) const {
    if (t_.meaning && t_.meaning->has_global) std::memcpy(out + t_.global_offset(), rows_->planes().global.data(), 4);
  }

 private:
  CodeTarget target_of(int column, int d) const {
    const auto [lane, index] = t_.place(column, d);
    const int bit = t_.first_bit(index), rest = std::min(t_.bits, 32 - bit % 32);
    return {t_.word_offset(bit / 32, lane), bit % 32, rest,
            rest < t_.bits ? t_.word_offset(bit / 32 + 1, lane) : int64_t{-1}};
  }

  // What stands behind the last k and the last column, where activations are zero: a number that is none less.
  uint32_t padding() const {
    if (!t_.meaning) return 0;
    const auto zero = std::ranges::find_if(t_.meaning->values, [](float v) { return v == 0; });
    return zero == t_.meaning->values.end() ? 0 : static_cast<uint32_t>(zero - t_.meaning->values.begin());
  }

  void put_column(int column, std::span<const uint32_t> codes, std::byte* out) const {
    const auto depth = static_cast<size_t>(t_.depth());
    const CodeTarget* targets = targets_.data() + static_cast<size_t>(column) * depth;
    for (size_t first = 0; first < codes.size(); first += depth, out += t_.tile_bytes())
      for (size_t d = 0; d < depth; ++d) {
        const CodeTarget& to = targets[d];
        const uint32_t code = codes[first + d] ^ t_.flipped;
        put(out + to.word, code << to.shift);
        if (to.next >= 0) put(out + to.next, code >> to.rest);
      }
  }
  static void put(std::byte* word, uint32_t bits) {
    uint32_t held = 0;
    std::memcpy(&held, word, 4);
    held |= bits;
    std::memcpy(word, &held, 4);
  }

  // Scales that are powers of two are stored as the exponent's field of f32, those of two levels as f32; others as they
  // are.
  uint32_t stored_scale(uint32_t code, int64_t row, int64_t group, int level) const {
    const ScaleMeaning& s = t_.meaning->scale;
    if (t_.meaning->two_level) return std::bit_cast<uint32_t>(s.values[code] * rows_->outer_scale(row, group, level));
    if (s.by == ScaleMeaning::By::power_of_two) {
      const float v = s.values[code];
      return std::isnan(v) ? 255 : static_cast<uint32_t>(std::ilogb(v) + 127);
    }
    return code;
  }

  void write_scales(int64_t tile, int64_t columns, std::byte* out) const {
    const int levels = t_.levels();
    const auto bytes = static_cast<size_t>(t_.scale_bytes()), zero_bytes = static_cast<size_t>(t_.zero_point_bytes());
    std::vector<uint32_t> codes(static_cast<size_t>(t_.groups() * levels));
    for (int64_t column = 0; column < (t_.slots > 1 ? columns : 1); ++column) {
      const int64_t row = first_row_ + tile * t_.columns() + column;
      if (bytes) rows_->read_scales(row, codes);
      for (int64_t g = 0; g < t_.groups(); ++g) {
        const int64_t number = t_.scale_number(tile, g, column);
        for (int level = 0; level < levels && bytes; ++level) {
          const uint32_t code = stored_scale(codes[static_cast<size_t>(g * levels + level)], row, g, level);
          std::memcpy(out + t_.scales_offset() + (number * levels + level) * static_cast<int64_t>(bytes), &code, bytes);
        }
        if (zero_bytes) {
          const uint32_t zero = rows_->zero_point(row, g);
          std::memcpy(out + t_.zero_points_offset() + number * static_cast<int64_t>(zero_bytes), &zero, zero_bytes);
        }
      }
    }
  }

  const WeightTiles& t_;
  const CodeRow read_;
  const PackedRows* const rows_;
  const int64_t first_row_;
  std::vector<CodeTarget> targets_;  // [column][depth]
};

void write_tiles(const TileWriter& writer, const WeightTiles& t, int threads, std::byte* out) {
  std::memset(out, 0, static_cast<size_t>(t.bytes()));  // bits are added to words
  auto chunk = [&](int64_t begin, int64_t end, int) {
    for (int64_t tile = begin; tile < end; ++tile) writer.write(tile, out);
  };
  parallel_chunks(t.column_tiles(), 1, threads, chunk);
  writer.write_global(out);
}

}  // namespace

void lay_out_tiles(const WeightTiles& t, const CodeRow& read, int threads, std::byte* out) {
  write_tiles(TileWriter(t, read, nullptr, 0), t, threads, out);
}

void lay_out_tiles(const WeightTiles& t, const Tensor& weights, int64_t first_row, int threads, std::byte* out) {
  if (t.meaning) {
    const PackedRows rows(weights, t.k);
    const auto read = [&](int64_t row, std::span<uint32_t> codes) { rows.read_codes(first_row + row, codes); };
    return write_tiles(TileWriter(t, read, &rows, first_row), t, threads, out);
  }
  const std::span<const std::byte> bytes = lying_bytes(weights.data());
  const auto read = [&](int64_t row, std::span<uint32_t> codes) {
    const std::byte* from = bytes.data() + (first_row + row) * t.k * t.bits / 8;
    for (size_t i = 0; i < codes.size(); ++i)
      std::memcpy(&codes[i], from + i * static_cast<size_t>(t.bits / 8), static_cast<size_t>(t.bits / 8));
  };
  lay_out_tiles(t, read, threads, out);
}

}  // namespace hone
