// Panels of shape.h from the planes of packed weights. One vector of columns at a time: the codes of a row become runs
// of 32-bit lanes, which are then transposed into the panel.
#include <cstring>

#include "base/mapped_file.h"
#include "base/threads.h"
#include "device/x86/block_gemm/shape.h"
#include "kernels/code_reader.h"
#include "device/x86/gemm/prepack.h"
#include "device/x86/lane_layout.h"
#include "formats/packed.h"

namespace hone {
namespace {

class Columns {
 public:
  Columns(const BlockGemmShape& shape, const Tensor& weights)
      : s_(shape),
        weights_(weights),
        bits_(weights.format()->element.bits),
        layout_(packed_layout(*weights.format(), weights.shape())),
        codes_(static_cast<size_t>(round_up(shape.blocks.k, 8))),
        lanes_(static_cast<size_t>(shape.lanes), std::vector<uint32_t>(lanes_of_row())),
        scales_(static_cast<size_t>(shape.blocks.weight_scales() * size_bytes(shape.scale))) {}

  // Columns [first, first + lanes) become vector v of the zeroed panel, whose word they may take.
  void pack(int64_t first, std::byte* panel, int v) {
    LaneRows rows{};
    is_plain_ = true;
    for (int c = 0; c < s_.lanes; ++c) {
      std::vector<uint32_t>& lanes = lanes_[static_cast<size_t>(c)];
      if (first + c >= s_.n) std::fill(lanes.begin(), lanes.end(), 0);
      else read_scales(first + c), store_scales(panel, v, c), read_row(first + c, lanes);
      rows[static_cast<size_t>(c)] = reinterpret_cast<const std::byte*>(lanes.data());
    }
    if (s_.powers && v == 0) std::memcpy(panel + s_.word_offset(), &kPlain, 4);
    if (s_.powers && !is_plain_) std::memset(panel + s_.word_offset(), 0, 4);
    transpose_lanes(rows, s_.lanes, std::ssize(lanes_[0]), LaneChange::none, panel + int64_t{v} * s_.lanes * 4,
                    s_.row_bytes());
  }

 private:
  size_t lanes_of_row() const { return static_cast<size_t>(s_.scales_offset() / s_.row_bytes()); }

  void read_row(int64_t n, std::vector<uint32_t>& lanes) {
    const int64_t k = s_.blocks.k;
    const int64_t first_bit = is_one_line() ? n * k * bits_ : n * layout_.line_bytes * 8;
    read_codes(weights_.data().bytes(), first_bit, bits_, std::span(codes_).first(static_cast<size_t>(k)));
    clear_nan_groups();
    is_plain_ = is_plain_ && has_plain_groups();
    uint32_t* to = lanes.data();
    for (int64_t begin = 0; begin < k; begin += s_.blocks.length)
      to = join(codes_.data() + begin, std::min(k - begin, s_.blocks.length), to);
  }
  bool is_one_line() const { return weights_.format()->geometry.kind == Geometry::Kind::tensor; }

  // Powers of two have infinity for NaN in the loop, where a sum of 0 makes NaN of it again.
  void clear_nan_groups() {
    if (s_.scale != DType::f8e8m0) return;
    const int64_t group = s_.blocks.length * s_.blocks.per_weight_scale;
    for (int64_t g = 0; g < s_.blocks.weight_scales(); ++g)
      if (scales_[static_cast<size_t>(g)] == std::byte{0xff})
        std::fill(codes_.begin() + g * group, codes_.begin() + std::min(s_.blocks.k, (g + 1) * group), 0);
  }

  // As kPlainPower says, codes being below 2^8; or of zeros alone.
  bool has_plain_groups() const {
    if (!s_.powers) return false;
    const int64_t group = s_.blocks.length * s_.blocks.per_weight_scale;
    for (int64_t g = 0; g < s_.blocks.weight_scales(); ++g) {
      const int power = std::to_integer<int>(scales_[static_cast<size_t>(g)]) - 127;
      const auto begin = codes_.begin() + g * group, end = codes_.begin() + std::min(s_.blocks.k, (g + 1) * group);
      if ((power < -kPlainPower || power > kPlainPower - 8) &&
          std::any_of(begin, end, [](uint8_t code) { return code != 0; }))
        return false;
    }
    return true;
  }

  // The codes of a block without sign, four or eight to a lane; what is missing of the last stands for 0. Codes with
  // sign have their highest bit turned, which adds the offset.
  uint32_t* join(const uint8_t* codes, int64_t k, uint32_t* to) const {
    const auto turned = static_cast<uint32_t>(s_.offset) * 0x01010101u;
    const auto quad = [&](int64_t i) {
      uint32_t four = 0;
      if (i < k) std::memcpy(&four, codes + i, static_cast<size_t>(std::min<int64_t>(4, k - i)));
      return four ^ turned;
    };
    if (!s_.halves)
      for (int64_t i = 0; i < k; i += 4) *to++ = quad(i);
    else
      for (int64_t i = 0; i < k; i += 8) *to++ = quad(i) | quad(i + 4) << 4;
    return to;
  }

  void read_scales(int64_t n) {
    const std::span<const std::byte> plane = weights_.scales().bytes();
    const size_t at = s_.shared_scale ? 0 : static_cast<size_t>(n) * scales_.size();
    std::memcpy(scales_.data(), plane.data() + at, scales_.size());
  }

  void store_scales(std::byte* panel, int v, int c) const {
    const int64_t size = size_bytes(s_.scale);
    std::byte* to = panel + s_.scales_offset() + (int64_t{v} * s_.lanes + c) * size;
    for (int64_t g = 0; g < s_.blocks.weight_scales(); ++g, to += s_.scale_row_bytes())
      std::memcpy(to, scales_.data() + g * size, static_cast<size_t>(size));
  }

  static constexpr uint32_t kPlain = 1;
  const BlockGemmShape& s_;
  const Tensor& weights_;
  const int bits_;
  const PackedLayout layout_;
  std::vector<uint8_t> codes_;  // of one row
  std::vector<std::vector<uint32_t>> lanes_;
  std::vector<std::byte> scales_;  // of one row
  bool is_plain_ = true;           // of the vector of columns
};

}  // namespace

std::string prepack_key(const X86BlockGemmPlan& plan, const X86Target& target) {
  const BlockGemmShape s = block_gemm_shape(plan, target);
  return fmt::format("{}x{} {} blocks of {} lanes {} vectors {}", plan.n, plan.k, plan.w_format, s.blocks.length,
                     s.lanes, s.vectors);
}

int64_t prepacked_bytes(const X86BlockGemmPlan& plan, const X86Target& target) {
  const BlockGemmShape s = block_gemm_shape(plan, target);
  return s.panels() * s.panel_bytes();
}

void prepack(const X86BlockGemmPlan& plan, const X86Target& target, const Tensor& weights, int threads,
             std::byte* out) {
  CHECK(weights.shape() == (std::vector<int64_t>{plan.n, plan.k}) && weights.is_packed());
  CHECK(to_string(*weights.format()) == plan.w_format, "{}", plan.w_format);
  const BlockGemmShape s = block_gemm_shape(plan, target);
  const int64_t row_bytes = static_cast<int64_t>(weights.data().size()) / plan.n;
  const int64_t piece = std::max<int64_t>(1, (int64_t{1} << 20) / (s.panel_columns() * plan.k));  // 1 MB of codes
  auto pack_panels = [&](int64_t begin, int64_t end, int) {
    Columns columns(s, weights);
    for (int64_t p = begin; p < end; ++p)
      for (int v = 0; v < s.vectors; ++v)
        if (const int64_t first = p * s.panel_columns() + int64_t{v} * s.lanes; first < s.n)
          columns.pack(first, out + p * s.panel_bytes(), v);
    drop_rows(weights.data(), row_bytes, begin * s.panel_columns(), end * s.panel_columns());
  };
  parallel_chunks(s.panels(), piece, threads, pack_panels);
  drop_source(weights);
}

}  // namespace hone
