// Panels of gemm_shape.h from plain weights or from the planes of a packed tensor. One vector of columns at a time: the
// rows of W become runs of 32-bit lanes, which are then transposed into the panel.
#include "codegen/prepack.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <mutex>
#include <vector>

#include "base/mapped_file.h"
#include "base/threads.h"
#include "codegen/code_reader.h"
#include "codegen/gemm_shape.h"

namespace hone {
namespace {

constexpr int kMaxLanes = 16;
using RowPointers = std::array<const uint32_t*, kMaxLanes>;

// out[r][c] = rows[c][r] for `lanes` columns; rows may start on any byte.
void transpose(const RowPointers& rows, int lanes, int64_t count, std::byte* out, int64_t out_row_bytes) {
  for (int64_t r = 0; r < count; ++r, out += out_row_bytes)
    for (int c = 0; c < lanes; ++c) std::memcpy(out + c * 4, reinterpret_cast<const std::byte*>(rows[c]) + r * 4, 4);
}

// The byte order that WeightDecoder's byte unpacks want: of four columns, first their low halves, then their high ones.
void interleave(std::byte* rows, int lanes, int64_t count, int64_t row_bytes) {
  for (int64_t r = 0; r < count; ++r, rows += row_bytes)
    for (int part = 0; part < lanes / 4; ++part) {
      uint16_t halves[8], order[8];
      std::memcpy(halves, rows + part * 16, 16);
      for (int c = 0; c < 4; ++c) order[c] = halves[2 * c], order[4 + c] = halves[2 * c + 1];
      std::memcpy(rows + part * 16, order, 16);
    }
}

// Even codes to the low half, odd ones to the high half.
uint32_t split_halves(uint32_t word, int bits) {
  uint32_t low = 0, high = 0;
  if (bits == 4) {
    low = word & 0x0f0f0f0f, high = word >> 4 & 0x0f0f0f0f;
    const auto close = [](uint32_t x) {
      x = (x | x >> 4) & 0x00ff00ff;
      return (x | x >> 8) & 0xffff;
    };
    return close(low) | close(high) << 16;
  }
  const uint32_t mask = (1u << bits) - 1;
  for (int i = 0; 2 * i * bits < 32; ++i) {
    low |= (word >> (2 * i * bits) & mask) << (i * bits);
    high |= (word >> ((2 * i + 1) * bits) & mask) << (i * bits);
  }
  return low | high << 16;
}

// --- plain weights
// ---------------------------------------------------------------------------------------------------------

class PlainSource {
 public:
  PlainSource(const GemmShape& shape, const Tensor& weights)
      : s_(shape),
        bytes_(weights.data().bytes()),
        row_bytes_(shape.k * size_bytes(weights.dtype())),
        zero_(static_cast<size_t>(shape.panel_rows()), 0) {}

  // Columns [first, first + lanes) of the panel at `out`.
  void pack(int64_t first, std::byte* out) const {
    const int64_t whole = row_bytes_ / 4;
    RowPointers rows{};
    for (int c = 0; c < s_.lanes; ++c) rows[static_cast<size_t>(c)] = first + c < s_.n ? row(first + c) : zero_.data();
    transpose(rows, s_.lanes, whole, out, s_.row_bytes());
    if (whole == s_.panel_rows()) return;
    for (int c = 0; c < s_.lanes && first + c < s_.n; ++c)  // odd k of bf16: the pair's upper half stays 0
      std::memcpy(out + whole * s_.row_bytes() + c * 4, reinterpret_cast<const std::byte*>(row(first + c)) + whole * 4,
                  2);
  }

 private:
  const uint32_t* row(int64_t n) const { return reinterpret_cast<const uint32_t*>(bytes_.data() + n * row_bytes_); }

  const GemmShape& s_;
  std::span<const std::byte> bytes_;
  int64_t row_bytes_;
  std::vector<uint32_t> zero_;
};

// --- packed weights
// --------------------------------------------------------------------------------------------------------

class PackedSource {
 public:
  PackedSource(const GemmShape& shape, const Tensor& weights)
      : s_(shape),
        c_(*shape.codec),
        format_(*weights.format()),
        planes_(weights.planes()),
        layout_(packed_layout(format_, weights.shape())) {
    if (c_.scale != WeightCodec::Scale::none) check_scale_lines();
  }

  void pack(int64_t first, std::byte* out, std::byte* scales) const {
    const int64_t rows = s_.groups() * s_.code_rows_per_group();
    std::vector<uint32_t> lines(static_cast<size_t>(rows * s_.lanes));
    RowPointers pointers{};
    for (int c = 0; c < s_.lanes; ++c) {
      uint32_t* line = lines.data() + c * rows;
      pointers[static_cast<size_t>(c)] = line;
      if (first + c >= s_.n) continue;
      const std::vector<uint32_t> codes = scale_codes(first + c);
      if (c_.decode == WeightCodec::Decode::expression) wide_line(first + c, line);
      else narrow_line(first + c, codes, line);
      for (int64_t g = 0; g < s_.groups() && c_.scale_bytes(); ++g)
        store_scale(codes[static_cast<size_t>(g)], scales + (g * s_.panel_columns() + c) * c_.scale_bytes());
    }
    transpose(pointers, s_.lanes, rows, out, s_.row_bytes());
    if (c_.order == WeightCodec::Order::interleaved) interleave(out, s_.lanes, rows, s_.row_bytes());
  }

 private:
  void check_scale_lines() const {
    const int64_t per_line = layout_.groups_per_line;
    CHECK(format_.geometry.kind != Geometry::Kind::group || per_line >= s_.groups(), "{} groups a line, {} wanted",
          per_line, s_.groups());
  }

  int64_t first_bit(int64_t n) const {
    return layout_.lines == 1 ? n * s_.k * c_.code_bits : n * layout_.line_bytes * 8;
  }

  // Codes of the groups of row n.
  std::vector<uint32_t> scale_codes(int64_t n) const {
    std::vector<uint32_t> codes(static_cast<size_t>(s_.groups()), 0);
    if (c_.scale == WeightCodec::Scale::none) return codes;
    const int bits = format_.scale.bits;
    const bool grouped = format_.geometry.kind == Geometry::Kind::group;
    const bool per_row = grouped || format_.geometry.kind == Geometry::Kind::channel;
    const int64_t per_line = grouped ? layout_.groups_per_line : 1;
    const int64_t start =
        bits == 32 ? (per_row ? n * per_line * 32 : 0) : (per_row ? n * layout_.scale_line_bytes * 8 : 0);
    read_codes(planes_.scales, start, bits, std::span<uint32_t>(codes));
    return codes;
  }

  void store_scale(uint32_t code, std::byte* out) const {
    if (c_.scale == WeightCodec::Scale::e8m0) *out = std::byte{c_.scale_recode[code]};
    else std::memcpy(out, &code, 4);
  }

  // Up to 8 bits: read, translate, and put chunk_k() stored codes into each lane, group by group.
  void narrow_line(int64_t n, const std::vector<uint32_t>& scales, uint32_t* line) const {
    const int64_t chunk = c_.chunk_k(), rows = s_.code_rows_per_group();
    std::vector<uint8_t> codes(static_cast<size_t>(s_.k)), padded(static_cast<size_t>(s_.groups() * rows * chunk), 0);
    read_codes(planes_.codes, first_bit(n), c_.code_bits, std::span<uint8_t>(codes));
    for (int64_t g = 0; g < s_.groups(); ++g) {
      const int64_t count = std::min(s_.group, s_.k - g * s_.group);
      const uint8_t* from = codes.data() + g * s_.group;
      uint8_t* to = padded.data() + g * rows * chunk;
      if (c_.scale == WeightCodec::Scale::e8m0 && c_.scale_recode[scales[static_cast<size_t>(g)]] == 255 &&
          c_.zero_code >= 0)
        std::fill_n(to, count, static_cast<uint8_t>(c_.zero_code));
      else
        for (int64_t i = 0; i < count; ++i) to[i] = c_.recode[from[i]];
    }
    to_lanes(padded, line);
  }

  void to_lanes(const std::vector<uint8_t>& codes, uint32_t* line) const {
    if (c_.stored_bits == 8) {
      std::memcpy(line, codes.data(), codes.size());
      return;
    }
    const size_t chunk = static_cast<size_t>(c_.chunk_k());
    for (size_t i = 0; i < codes.size(); i += chunk) {
      uint32_t word = 0;
      if (c_.stored_bits == 4) {  // eight bytes to eight nibbles
        uint64_t x;
        std::memcpy(&x, codes.data() + i, 8);
        x = (x | x >> 4) & 0x00ff00ff00ff00ff;
        x = (x | x >> 8) & 0x0000ffff0000ffff;
        word = static_cast<uint32_t>(x | x >> 16);
      } else {
        for (size_t j = 0; j < chunk; ++j)
          word |= static_cast<uint32_t>(codes[i + j]) << (j * static_cast<size_t>(c_.stored_bits));
      }
      *line++ = split_halves(word, c_.stored_bits);
    }
  }

  void wide_line(int64_t n, uint32_t* line) const {
    const int64_t chunk = c_.chunk_k(), rows = s_.code_rows_per_group();
    std::vector<uint32_t> codes(static_cast<size_t>(s_.k));
    read_codes(planes_.codes, first_bit(n), c_.code_bits, std::span<uint32_t>(codes));
    for (int64_t k = 0; k < s_.k; ++k) {
      const int64_t in_group = k % s_.group;
      line[k / s_.group * rows + in_group / chunk] |= codes[static_cast<size_t>(k)]
                                                      << (in_group % chunk * c_.stored_bits);
    }
  }

  const GemmShape& s_;
  const WeightCodec& c_;
  Format format_;
  PlaneView planes_;
  PackedLayout layout_;
};

void check_weights(const GemmPlan& plan, const Tensor& weights) {
  const std::vector<int64_t> expected{plan.n, plan.k};
  CHECK(plan.weights == GemmPlan::Weights::prepacked);
  CHECK(weights.shape() == expected, "weights of {}, plan of [{}, {}]", to_string(weights.type()), plan.n, plan.k);
  CHECK(weights.is_packed() == !plan.w_format.empty());
  if (weights.is_packed()) CHECK(to_string(*weights.format()) == plan.w_format, "{}", plan.w_format);
  else CHECK(weights.dtype() == plan.w, "{}", to_string(weights.dtype()));
}

// Rows [first, last) of a plane whose rows are `row_bytes` long.
void drop_rows(const Buffer& plane, int64_t row_bytes, int64_t first, int64_t last) {
  if (!plane.is_mapped()) return;
  const int64_t size = static_cast<int64_t>(plane.size());
  const int64_t begin = std::min(size, first * row_bytes), end = std::min(size, last * row_bytes);
  drop_pages(plane.bytes().subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
}

}  // namespace

int64_t prepacked_bytes(const GemmPlan& plan, IsaLevel isa) {
  const GemmShape s = gemm_shape(plan, isa);
  return s.panels() * s.panel_bytes();
}

Buffer prepack(const GemmPlan& plan, IsaLevel isa, const Tensor& weights, int threads) {
  check_weights(plan, weights);
  const GemmShape s = gemm_shape(plan, isa);
  Buffer out(static_cast<size_t>(s.panels() * s.panel_bytes()));
  std::byte* const base = out.mutable_bytes().data();
  const auto each_panel = [&](const auto& pack_vector) {
    auto chunk = [&](int64_t begin, int64_t end, int) {
      for (int64_t p = begin; p < end; ++p)
        for (int v = 0; v < s.vectors; ++v)
          if (p * s.panel_columns() + v * s.lanes < s.n) pack_vector(p, v);
      drop_rows(weights.data(), static_cast<int64_t>(weights.data().size()) / s.n, begin * s.panel_columns(),
                end * s.panel_columns());
    };
    // About 1 MB of source in a piece, so that dropping pages seldom cuts one.
    const int64_t panel_source = std::max<int64_t>(1, static_cast<int64_t>(weights.data().size()) / s.panels());
    parallel_chunks(s.panels(), std::max<int64_t>(1, (1 << 20) / panel_source), threads, chunk);
  };
  if (s.codec) {
    const PackedSource source(s, weights);
    each_panel([&](int64_t p, int v) {
      std::byte* panel = base + p * s.panel_bytes();
      std::byte* scales = panel + s.scales_offset() + int64_t{v} * s.lanes * s.codec->scale_bytes();
      source.pack(p * s.panel_columns() + v * s.lanes, panel + int64_t{v} * s.lanes * 4, scales);
    });
  } else {
    const PlainSource source(s, weights);
    each_panel([&](int64_t p, int v) {
      source.pack(p * s.panel_columns() + v * s.lanes, base + p * s.panel_bytes() + int64_t{v} * s.lanes * 4);
    });
  }
  for (const Buffer* plane : {&weights.data(), &weights.scales(), &weights.zero_points(), &weights.global()})
    if (plane->is_mapped()) drop_pages(plane->bytes());
  return out;
}

}  // namespace hone
