// Panels of panel_layout.h from plain weights or from the planes of a packed tensor. One vector of columns at a time:
// the rows of W become runs of 32-bit lanes, which are then transposed into the panel.
#include "device/x86/gemm/prepack.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "base/mapped_file.h"
#include "base/multiples.h"
#include "base/threads.h"
#include "device/x86/gemm/panel_layout.h"
#include "device/x86/lane_layout.h"
#include "device/x86/packed_source.h"
#include "ir/lying_bytes.h"

namespace hone {
namespace {

class PlainSource {
 public:
  PlainSource(const PanelLayout& layout, const Tensor& weights)
      : s_(layout),
        bytes_(lying_bytes(weights.data())),
        row_bytes_(layout.k * size_bytes(weights.dtype())),
        zero_(static_cast<size_t>(row_bytes_)) {}

  // Columns [first, first + lanes) of the panel at `out`.
  void pack(int64_t first, std::byte* out) const {
    const int64_t whole = row_bytes_ / 4, rest = row_bytes_ % 4;
    LaneRows rows{};
    for (int c = 0; c < s_.lanes; ++c) rows[static_cast<size_t>(c)] = first + c < s_.n ? row(first + c) : zero_.data();
    transpose_lanes(rows, s_.lanes, whole, LaneChange::none, out, s_.row_bytes());
    for (int c = 0; c < s_.lanes && first + c < s_.n && rest; ++c)  // what is left of the lane stays 0
      std::memcpy(out + whole * s_.row_bytes() + c * 4, row(first + c) + whole * 4, static_cast<size_t>(rest));
  }

  // -128 times the sum of each of these columns, modulo 2^32.
  void correct(int64_t first, std::byte* out) const {
    for (int c = 0; c < s_.lanes; ++c) {
      int64_t sum = 0;
      for (int64_t k = 0; k < s_.k && first + c < s_.n; ++k) sum += static_cast<int8_t>(row(first + c)[k]);
      const auto correction = static_cast<int32_t>(static_cast<uint32_t>(-128 * sum));
      std::memcpy(out + c * 4, &correction, 4);
    }
  }

 private:
  const std::byte* row(int64_t n) const { return bytes_.data() + n * row_bytes_; }

  const PanelLayout& s_;
  std::span<const std::byte> bytes_;
  int64_t row_bytes_;
  std::vector<std::byte> zero_;
};

// Weights that lie as [K,N]: a row of a panel is a piece of one of theirs, or of two, lane by lane.
void pack_rows(const PanelLayout& s, const std::byte* from, int64_t first, int64_t last, std::byte* base) {
  const bool pairs = s.plain == PanelType::pairs;
  const int64_t columns = s.panel_columns(), bytes = s.panel_bytes(), item = pairs ? 2 : 4, row_bytes = s.n * item;
  const std::vector<std::byte> zero(static_cast<size_t>(pairs ? row_bytes : 0));  // behind the last row
  for (int64_t row = first; row < last; ++row) {
    const std::byte* const low = from + row * (pairs ? 2 : 1) * row_bytes;
    const std::byte* const high = 2 * row + 1 < s.k ? low + row_bytes : zero.data();
    std::byte* to = base + row * s.row_bytes();
    for (int64_t column = 0; column < s.n; column += columns, to += bytes) {
      const int64_t count = std::min(columns, s.n - column), at = column * item;
      if (pairs) join_halves(low + at, high + at, count, to);
      else std::memcpy(to, low + at, static_cast<size_t>(count * item));
    }
  }
}

// All threads take rows of the source, which so is read once from its start to its end.
void lay_out_by_rows(const PanelLayout& s, const Buffer::Source& source, int threads, std::byte* base) {
  const int64_t few = 4 / source.element_bytes, row_bytes = few * s.n * source.element_bytes;
  auto chunk = [&](int64_t begin, int64_t end, int) {
    pack_rows(s, source.bytes.data(), begin, end, base);
    if (!source.mapped) return;
    const auto size = std::ssize(source.bytes), first = begin * row_bytes, last = std::min(size, end * row_bytes);
    drop_pages(source.bytes.subspan(static_cast<size_t>(first), static_cast<size_t>(last - first)));
  };
  const int64_t rows = ceil_div(s.k, few);
  parallel_chunks(rows, std::max<int64_t>(1, (1 << 20) / std::max<int64_t>(row_bytes, 1)), threads, chunk);
}

// Whether panels are made of the weights as they lie.
bool reads_columns(const PanelLayout& s, const std::optional<Buffer::Source>& source) {
  return source && source->by_columns && source->rows == s.n && source->columns == s.k &&
         (s.plain == PanelType::f32 || s.plain == PanelType::pairs) &&
         source->element_bytes == (s.plain == PanelType::f32 ? 4 : 2);
}

void check_weights(const GemmPlan& plan, const Tensor& weights) {
  const std::vector<int64_t> expected{plan.n, plan.k};
  CHECK(plan.weights == GemmPlan::Weights::prepacked);
  CHECK(weights.shape() == expected, "weights of {}, plan of [{}, {}]", to_string(weights.type()), plan.n, plan.k);
  CHECK(weights.is_packed() == !plan.w_format.empty());
  if (weights.is_packed()) CHECK(to_string(*weights.format()) == plan.w_format, "{}", plan.w_format);
  else CHECK(weights.dtype() == plan.w, "{}", to_string(weights.dtype()));
}

}  // namespace

void drop_rows(const Buffer& plane, int64_t row_bytes, int64_t first, int64_t last) {
  const std::span<const std::byte> file = bytes_in_file(plane);
  const int64_t begin = std::min(std::ssize(file), first * row_bytes),
                end = std::min(std::ssize(file), last * row_bytes);
  drop_pages(file.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
}

void lay_out_panels(const PanelLayout& s, const Tensor& weights, int64_t first_row, int threads, std::byte* base) {
  const int64_t row_bytes = static_cast<int64_t>(weights.data().size()) / weights.dim(0);
  const auto each_panel = [&](const auto& pack_vector) {
    auto chunk = [&](int64_t begin, int64_t end, int) {
      for (int64_t p = begin; p < end; ++p)
        for (int v = 0; v < s.vectors; ++v)
          if (p * s.panel_columns() + v * s.lanes < s.n) pack_vector(p, v);
      drop_rows(weights.data(), row_bytes, first_row + begin * s.panel_columns(), first_row + end * s.panel_columns());
    };
    // About 1 MB of source in a piece, so that dropping pages seldom cuts one.
    const int64_t panel_source = std::max<int64_t>(1, row_bytes * s.panel_columns());
    parallel_chunks(s.panels(), std::max<int64_t>(1, (1 << 20) / panel_source), threads, chunk);
  };
  if (s.codec) {
    const PackedSource source(s, weights, first_row);
    each_panel(
        [&](int64_t p, int v) { source.pack(p * s.panel_columns() + v * s.lanes, base + p * s.panel_bytes(), v); });
  } else {
    CHECK(first_row == 0);
    if (const auto source = weights.data().source(); reads_columns(s, source))
      return lay_out_by_rows(s, *source, threads, base);
    const PlainSource source(s, weights);
    each_panel([&](int64_t p, int v) {
      const int64_t first = p * s.panel_columns() + v * s.lanes, lanes_bytes = int64_t{v} * s.lanes * 4;
      std::byte* const panel = base + p * s.panel_bytes();
      source.pack(first, panel + lanes_bytes);
      if (s.plain == PanelType::quads) source.correct(first, panel + s.scales_offset() + lanes_bytes);
    });
  }
}

std::string prepack_key(const X86GemmPlan& plan, const X86Target& target) {
  const PanelLayout layout = panel_layout(plan, target);
  return fmt::format("{}x{} {} lanes {} vectors {}{}", plan.n, plan.k,
                     plan.w_format.empty() ? std::string(to_string(plan.w)) : plan.w_format, layout.lanes,
                     layout.vectors, layout.fills_steps ? " whole steps" : "");
}

int64_t prepacked_bytes(const X86GemmPlan& plan, const X86Target& target) {
  const PanelLayout s = panel_layout(plan, target);
  return s.panels() * s.panel_bytes();
}

void prepack(const X86GemmPlan& plan, const X86Target& target, const Tensor& weights, int threads, std::byte* out) {
  check_weights(plan, weights);
  lay_out_panels(panel_layout(plan, target), weights, 0, threads, out);
  drop_source(weights);
}

}  // namespace hone
