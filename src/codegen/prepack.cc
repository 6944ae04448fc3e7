// Panels of gemm_shape.h from plain weights or from the planes of a packed tensor. One vector of columns at a time: the
// rows of W become runs of 32-bit lanes, which are then transposed into the panel.
#include "codegen/prepack.h"

#include "codegen/conv_shape.h"
#include "codegen/winograd_shape.h"
#include "codegen/winograd_weights.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/mapped_file.h"
#include "base/threads.h"
#include "codegen/byte_table.h"
#include "codegen/code_reader.h"
#include "codegen/gemm_shape.h"
#include "codegen/lane_layout.h"
#include "passes/weight_matrix.h"

namespace hone {
namespace {

class PlainSource {
 public:
  PlainSource(const GemmShape& shape, const Tensor& weights)
      : s_(shape),
        bytes_(weights.data().bytes()),
        row_bytes_(shape.k * size_bytes(weights.dtype())),
        zero_(static_cast<size_t>(shape.panel_rows() * 4)) {}

  // Columns [first, first + lanes) of the panel at `out`.
  void pack(int64_t first, std::byte* out) const {
    const int64_t whole = row_bytes_ / 4;
    LaneRows rows{};
    for (int c = 0; c < s_.lanes; ++c) rows[static_cast<size_t>(c)] = first + c < s_.n ? row(first + c) : zero_.data();
    transpose_lanes(rows, s_.lanes, whole, LaneChange::none, out, s_.row_bytes());
    if (whole == s_.panel_rows()) return;
    for (int c = 0; c < s_.lanes && first + c < s_.n; ++c)  // odd k of bf16: the pair's upper half stays 0
      std::memcpy(out + whole * s_.row_bytes() + c * 4, row(first + c) + whole * 4, 2);
  }

 private:
  const std::byte* row(int64_t n) const { return bytes_.data() + n * row_bytes_; }

  const GemmShape& s_;
  std::span<const std::byte> bytes_;
  int64_t row_bytes_;
  std::vector<std::byte> zero_;
};

class PackedSource {
 public:
  PackedSource(const GemmShape& shape, const Tensor& weights)
      : s_(shape),
        c_(*shape.codec),
        format_(*weights.format()),
        planes_(weights.planes()),
        layout_(packed_layout(format_, weights.shape())) {
    if (c_.scale != WeightCodec::Scale::none) check_scale_lines();
    if ((whole_ = holds_whole_lanes())) make_table();
    if (c_.order == WeightCodec::Order::interleaved) change_ = LaneChange::interleave;
    else if (whole_ && c_.order == WeightCodec::Order::halves) change_ = LaneChange::split_nibbles;
  }

  void pack(int64_t first, std::byte* out, std::byte* scales) const {
    const int64_t rows = s_.groups() * s_.code_rows_per_group();
    Buffers buffers{std::vector<uint32_t>(static_cast<size_t>(rows * s_.lanes)),
                    std::vector<uint32_t>(static_cast<size_t>(s_.groups())),
                    {},
                    {}};
    LaneRows columns{};
    for (int c = 0; c < s_.lanes; ++c) {
      uint32_t* line = buffers.lanes.data() + c * rows;
      columns[static_cast<size_t>(c)] = reinterpret_cast<const std::byte*>(line);
      if (first + c >= s_.n) continue;
      read_scales(first + c, buffers.scales);
      if (c_.decode == WeightCodec::Decode::expression) wide_line(first + c, line);
      else if (whole_) columns[static_cast<size_t>(c)] = whole_line(first + c, buffers, line);
      else narrow_line(first + c, buffers, line);
      for (int64_t g = 0; g < s_.groups() && c_.scale_bytes(); ++g)
        store_scale(buffers.scales[static_cast<size_t>(g)], scales + (g * s_.panel_columns() + c) * c_.scale_bytes());
    }
    transpose_lanes(columns, s_.lanes, rows, change_, out, s_.row_bytes());
  }

 private:
  struct Buffers {
    std::vector<uint32_t> lanes, scales;
    std::vector<uint8_t> codes, padded;
  };

  void check_scale_lines() const {
    const int64_t per_line = layout_.groups_per_line;
    CHECK(format_.geometry.kind != Geometry::Kind::group || per_line >= s_.groups(), "{} groups a line, {} wanted",
          per_line, s_.groups());
  }

  int64_t first_bit(int64_t n) const {
    return layout_.lines == 1 ? n * s_.k * c_.code_bits : n * layout_.line_bytes * 8;
  }

  // Codes of the scales of row n.
  void read_scales(int64_t n, std::vector<uint32_t>& codes) const {
    if (c_.scale == WeightCodec::Scale::none) return;
    const int bits = format_.scale.bits;
    const bool grouped = format_.geometry.kind == Geometry::Kind::group;
    const bool per_row = grouped || format_.geometry.kind == Geometry::Kind::channel;
    const int64_t row_bits = bits == 32 ? (grouped ? layout_.groups_per_line : 1) * 32 : layout_.scale_line_bytes * 8;
    read_codes(planes_.scales, per_row ? n * row_bits : 0, bits, std::span<uint32_t>(codes));
  }
  bool is_nan_group(const Buffers& buffers, int64_t g) const {
    return c_.scale == WeightCodec::Scale::e8m0 && c_.scale_recode[buffers.scales[static_cast<size_t>(g)]] == 255 &&
           c_.zero_code >= 0;
  }

  void store_scale(uint32_t code, std::byte* out) const {
    if (c_.scale == WeightCodec::Scale::e8m0) *out = std::byte{c_.scale_recode[code]};
    else std::memcpy(out, &code, 4);
  }

  // Rows whose bytes, each translated, are the lanes.
  bool holds_whole_lanes() const {
    const bool bytes = c_.code_bits == c_.stored_bits && (c_.stored_bits == 4 || c_.stored_bits == 8);
    const bool groups = s_.groups() == 1 || (s_.group % c_.chunk_k() == 0 && s_.k % s_.group == 0);
    return bytes && groups && s_.k % c_.chunk_k() == 0 && first_bit(1) % 8 == 0;
  }
  void make_table() {
    const size_t codes = size_t{1} << c_.stored_bits;
    for (size_t byte = 0; byte < table_.size(); ++byte)
      table_[byte] = static_cast<uint8_t>(c_.recode[byte % codes] | (codes == 16 ? c_.recode[byte / 16] << 4 : 0));
    for (size_t byte = 0; byte < table_.size(); ++byte) translates_ |= table_[byte] != byte;
  }

  // The lanes of row n: in the plane when they are there, else in `line`.
  const std::byte* whole_line(int64_t n, const Buffers& buffers, uint32_t* line) const {
    const std::byte* codes = planes_.codes.data() + first_bit(n) / 8;
    bool any_nan = false;
    for (int64_t g = 0; g < s_.groups(); ++g) any_nan |= is_nan_group(buffers, g);
    if (!translates_ && !any_nan) return codes;
    auto* lanes = reinterpret_cast<std::byte*>(line);
    translate(table_, codes, s_.k * c_.stored_bits / 8, lanes);
    const int64_t group_bytes = s_.code_rows_per_group() * 4;
    const int zero = c_.stored_bits == 4 ? c_.zero_code * 17 : c_.zero_code;
    for (int64_t g = 0; any_nan && g < s_.groups(); ++g)
      if (is_nan_group(buffers, g)) std::memset(lanes + g * group_bytes, zero, static_cast<size_t>(group_bytes));
    return lanes;
  }

  // Up to 8 bits: read, translate, and put chunk_k() stored codes into each lane, group by group.
  void narrow_line(int64_t n, Buffers& buffers, uint32_t* line) const {
    const int64_t chunk = c_.chunk_k(), rows = s_.code_rows_per_group();
    buffers.codes.resize(static_cast<size_t>(s_.k));
    read_codes(planes_.codes, first_bit(n), c_.code_bits, std::span<uint8_t>(buffers.codes));
    const bool bytes = c_.stored_bits == 8;
    if (!bytes) buffers.padded.assign(static_cast<size_t>(s_.groups() * rows * chunk), 0);
    uint8_t* const target = bytes ? reinterpret_cast<uint8_t*>(line) : buffers.padded.data();
    for (int64_t g = 0; g < s_.groups(); ++g) {
      const int64_t count = std::min(s_.group, s_.k - g * s_.group);
      const uint8_t* from = buffers.codes.data() + g * s_.group;
      uint8_t* to = target + g * rows * chunk;
      if (is_nan_group(buffers, g)) std::fill_n(to, count, static_cast<uint8_t>(c_.zero_code));
      else
        for (int64_t i = 0; i < count; ++i) to[i] = c_.recode[from[i]];
    }
    if (!bytes) to_lanes(buffers.padded, line);
  }
  // Stored codes of fewer than 8 bits.
  void to_lanes(const std::vector<uint8_t>& codes, uint32_t* line) const {
    const size_t chunk = static_cast<size_t>(c_.chunk_k()), bits = static_cast<size_t>(c_.stored_bits);
    for (size_t i = 0; i < codes.size(); i += chunk) {
      uint32_t word = 0;
      for (size_t j = 0; j < chunk; ++j) word |= static_cast<uint32_t>(codes[i + j]) << (j * bits);
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
  LaneChange change_ = LaneChange::none;
  bool whole_ = false, translates_ = false;
  ByteTable table_{};  // of bytes of codes, when whole_
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
  PanelPool pool;
  return prepack(plan, isa, weights, threads, pool);
}

Buffer prepack(const GemmPlan& plan, IsaLevel isa, const Tensor& weights, int threads, PanelPool& pool) {
  check_weights(plan, weights);
  const GemmShape s = gemm_shape(plan, isa);
  const PanelMemory memory = pool.take(static_cast<size_t>(s.panels() * s.panel_bytes()));
  std::byte* const base = memory.bytes.data();
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
  return Buffer(memory.owner, memory.bytes);
}

namespace {

// Rows [first, first + rows) of a plain matrix, each run of `segment` columns followed by zeros up to `room`.
Tensor spread_runs(const Tensor& weights, int64_t first, int64_t rows, int64_t segment, int64_t room) {
  const int64_t element = size_bytes(weights.dtype()), columns = weights.dim(1), runs = columns / segment;
  Buffer buffer(static_cast<size_t>(rows * runs * room * element));
  std::byte* to = buffer.mutable_bytes().data();
  const std::byte* from = weights.data().bytes().data() + first * columns * element;
  for (int64_t i = 0; i < rows * runs; ++i)
    std::memcpy(to + i * room * element, from + i * segment * element, static_cast<size_t>(segment * element));
  return Tensor(weights.dtype(), {rows, runs * room}, std::move(buffer));
}

// Panels [panel, product].
Buffer prepack_winograd(const ConvPlan& plan, IsaLevel isa, const Tensor& weights, int threads, PanelPool& pool) {
  const WinogradShape shape = winograd_shape(plan, isa);
  const int64_t bytes = shape.w->products() * shape.gemm.panel_bytes();
  const PanelMemory memory = pool.take(static_cast<size_t>(shape.gemm.panels() * bytes));
  auto chunk = [&](int64_t begin, int64_t end, int) {
    for (int64_t p = begin; p < end; ++p)
      transform_weights(*shape.w, shape.gemm, weights, p, memory.bytes.data() + p * bytes);
  };
  parallel_chunks(shape.gemm.panels(), 1, threads, chunk);
  if (weights.data().is_mapped()) drop_pages(weights.data().bytes());
  return Buffer(memory.owner, memory.bytes);
}

}  // namespace

int64_t prepacked_bytes(const ConvPlan& plan, IsaLevel isa) {
  if (plan.method == ConvPlan::Method::direct) return plan.groups * prepacked_bytes(laid_out_product(plan, isa), isa);
  const WinogradShape shape = winograd_shape(plan, isa);
  return shape.gemm.panels() * shape.w->products() * shape.gemm.panel_bytes();
}

Buffer prepack(const ConvPlan& plan, IsaLevel isa, const Tensor& weights, int threads, PanelPool& pool) {
  if (plan.method != ConvPlan::Method::direct) return prepack_winograd(plan, isa, weights, threads, pool);
  if (weights.shape().size() != 2) {
    const Tensor matrix = *weight_matrix(weights);
    if (weights.data().is_mapped()) drop_pages(weights.data().bytes());
    return prepack(plan, isa, matrix, threads, pool);
  }
  const GemmPlan product = laid_out_product(plan, isa);
  if (plan.groups == 1 && product.k == plan.product.k) return prepack(product, isa, weights, threads, pool);
  const Tensor source = weights.is_packed() ? unpack(weights) : weights;
  const ConvShape shape = conv_shape(plan, isa);
  const int64_t room = product.k / (plan.product.k / shape.segment);
  const int64_t bytes = prepacked_bytes(product, isa);
  const PanelMemory memory = pool.take(static_cast<size_t>(plan.groups * bytes));
  for (int64_t g = 0; g < plan.groups; ++g) {
    const Tensor part = spread_runs(source, g * product.n, product.n, shape.segment, room);
    std::memcpy(memory.bytes.data() + g * bytes, prepack(product, isa, part, threads).bytes().data(),
                static_cast<size_t>(bytes));
  }
  return Buffer(memory.owner, memory.bytes);
}

}  // namespace hone
