#include "device/x86/conv/prepack.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/threads.h"
#include "device/x86/conv/shape.h"
#include "kernels/conv/weight_steps.h"
#include "device/x86/conv/winograd_shape.h"
#include "device/x86/conv/winograd_weights.h"
#include "device/x86/gemm/prepack.h"
#include "ir/lying_bytes.h"
#include "passes/weight_matrix.h"

namespace hone {
namespace {

int64_t row_bytes(const Tensor& weights) { return weights.bytes() / weights.dim(0); }

// Panels [panel, product].
void prepack_winograd(const X86ConvPlan& plan, const X86Target& target, const Tensor& weights, int threads,
                      std::byte* out) {
  const WinogradShape shape = winograd_shape(plan, target);
  const WeightSteps steps = weight_steps(plan, weights.shape());
  const int64_t bytes = shape.w->products() * shape.gemm.panel_bytes(), columns = shape.gemm.panel_columns();
  auto chunk = [&](int64_t begin, int64_t end, int) {
    for (int64_t p = begin; p < end; ++p) transform_weights(*shape.w, shape.gemm, weights, steps, p, out + p * bytes);
    if (!plan.turned) drop_rows(weights.data(), row_bytes(weights), begin * columns, end * columns);
  };
  parallel_chunks(shape.gemm.panels(), 1, threads, chunk);
  drop_source(weights);
}

// What makes rows of the product's matrix, as it is laid out, of weights in another order: each run of `segment`
// columns is followed by zeros up to `room`.
class Rows {
 public:
  Rows(const X86ConvPlan& plan, const X86Target& target, const Tensor& weights, int64_t k)
      : plan_(plan), steps_(weight_steps(plan, weights.shape())), dtype_(weights.dtype()), k_(k) {
    const int64_t segment = conv_shape(plan, target).segment, room = k / (plan.product.k / segment);
    for (int64_t tap = 0; tap < plan.window.taps(); ++tap) {
      const int64_t column = tap * plan.channels;
      columns_.push_back(column / segment * room + column % segment);
    }
  }

  // Rows [first, first + count) of a group, whose weights lie from `group` on.
  Tensor make(const std::byte* group, int64_t first, int64_t count) const {
    Tensor rows(dtype_, {count, k_});
    const int64_t element = size_bytes(dtype_);
    const std::byte* from = group + (steps_.first + first * steps_.output) * element;
    CHECK(element == 1 || element == 2 || element == 4);
    const auto move = element == 1 ? &Rows::move<1> : element == 2 ? &Rows::move<2> : &Rows::move<4>;
    (this->*move)(from, count, rows.mutable_data());
    return rows;
  }

 private:
  template <int kBytes>
  void move(const std::byte* from, int64_t count, std::byte* to) const {
    if (plan_.turned) return move_turned<kBytes>(from, count, to);
    const int64_t channel = steps_.channel * kBytes;
    for (int64_t o = 0; o < count; ++o)
      for (int64_t tap = 0; tap < std::ssize(columns_); ++tap) {
        std::byte* out = to + (o * k_ + columns_[static_cast<size_t>(tap)]) * kBytes;
        for (int64_t plane = 0; plane < plan_.planes; ++plane) {
          const std::byte* src = from + (o * steps_.output + tap * steps_.tap + plane * steps_.plane) * kBytes;
          for (int64_t c = 0; c < steps_.channels; ++c, src += channel, out += kBytes) std::memcpy(out, src, kBytes);
        }
      }
  }

  // What the rows have of a channel lies together: so many of them are written side by side.
  template <int kBytes>
  void move_turned(const std::byte* from, int64_t count, std::byte* to) const {
    constexpr int64_t kRows = 16;
    CHECK(plan_.planes == 1);
    for (int64_t first = 0; first < count; first += kRows)
      for (int64_t c = 0; c < plan_.channels; ++c)
        for (int64_t o = first; o < std::min(count, first + kRows); ++o)
          for (int64_t tap = 0; tap < std::ssize(columns_); ++tap)
            std::memcpy(to + (o * k_ + columns_[static_cast<size_t>(tap)] + c) * kBytes,
                        from + (c * steps_.channel + o * steps_.output + tap * steps_.tap) * kBytes, kBytes);
  }

  const X86ConvPlan& plan_;
  WeightSteps steps_;
  DType dtype_;
  int64_t k_;                     // with zeros
  std::vector<int64_t> columns_;  // where each tap begins
};

// Panels of rows that are made piece by piece: no whole copy of the weights exists.
void prepack_pieces(const X86ConvPlan& plan, const X86Target& target, const Tensor& weights, int threads,
                    std::byte* out) {
  constexpr int64_t kPiece = 1 << 20;  // bytes of such rows, of one thread; a panel is at most some MB
  const X86GemmPlan product = laid_out_product(plan, target);
  const PanelLayout layout = panel_layout(product, target);
  const Rows rows(plan, target, weights, product.k);
  const int64_t element = size_bytes(weights.dtype()), columns = layout.panel_columns(), panels = layout.panels(),
                group_bytes = plan.product.n * plan.product.k * element;
  const std::byte* const from = lying_bytes(weights.data()).data();
  auto chunk = [&](int64_t begin, int64_t end, int) {
    for (int64_t group = begin / panels; group <= (end - 1) / panels; ++group) {
      const int64_t first = std::max(begin - group * panels, int64_t{0}), last = std::min(end - group * panels, panels),
                    row = first * columns;
      PanelLayout part = layout;
      part.n = std::min(last * columns, product.n) - row;
      lay_out_panels(part, rows.make(from + group * group_bytes, row, part.n), 0, 1,
                     out + (group * panels + first) * layout.panel_bytes());
      if (!plan.turned) {
        const int64_t above = group * product.n + row;
        drop_rows(weights.data(), row_bytes(weights), above, above + part.n);
      }
    }
  };
  const int64_t panel_source = columns * product.k * element;
  parallel_chunks(plan.groups * panels, std::max<int64_t>(1, kPiece / panel_source), threads, chunk);
  drop_source(weights);
}

// Of a matrix whose rows are the product's.
void prepack_matrix(const X86ConvPlan& plan, const X86Target& target, const Tensor& weights, int threads,
                    std::byte* out) {
  const X86GemmPlan product = laid_out_product(plan, target);
  if (plan.groups == 1 && product.k == plan.product.k) return prepack(product, target, weights, threads, out);
  CHECK(weights.is_packed());
  const PanelLayout s = panel_layout(product, target);
  for (int64_t g = 0; g < plan.groups; ++g)
    lay_out_panels(s, weights, g * product.n, threads, out + g * s.panels() * s.panel_bytes());
  drop_source(weights);
}

}  // namespace

std::string prepack_key(const X86ConvPlan& plan, const X86Target& target) {
  if (plan.method != X86ConvPlan::Method::direct)
    return fmt::format("{} winograd {} planes {}{}", prepack_key(winograd_product(plan), target),
                       winograd_shape(plan, target).w->piece, plan.planes, plan.turned ? " turned" : "");
  const ConvShape shape = conv_shape(plan, target);
  return fmt::format("{} segment {} groups {} planes {} {}{}", prepack_key(laid_out_product(plan, target), target),
                     shape.segment, plan.groups, plan.planes,
                     shape.gemm.panel() == PanelType::pairs ? "pairs" : "singles", plan.turned ? " turned" : "");
}

int64_t prepacked_bytes(const X86ConvPlan& plan, const X86Target& target) {
  if (plan.method == X86ConvPlan::Method::direct)
    return plan.groups * prepacked_bytes(laid_out_product(plan, target), target);
  const WinogradShape shape = winograd_shape(plan, target);
  return shape.gemm.panels() * shape.w->products() * shape.gemm.panel_bytes();
}

void prepack(const X86ConvPlan& plan, const X86Target& target, const Tensor& weights, int threads, std::byte* out) {
  const std::vector<int64_t> matrix{plan.groups * plan.product.n, plan.product.k};
  CHECK(weights.elements() == matrix[0] * matrix[1], "weights of {}", to_string(weights.type()));
  if (plan.method != X86ConvPlan::Method::direct) return prepack_winograd(plan, target, weights, threads, out);
  const bool is_matrix = weights.shape().size() == 2;
  if (weights.is_packed())
    return prepack_matrix(plan, target, is_matrix ? weights : *weight_matrix(weights), threads, out);
  CHECK(weights.dtype() == plan.product.w, "{}", to_string(weights.dtype()));
  const bool as_it_lies = plan.groups == 1 && laid_out_product(plan, target).k == plan.product.k;
  if (as_it_lies && are_rows(plan, weight_steps(plan, weights.shape())))
    return prepack_matrix(plan, target, weights.reshaped(matrix), threads, out);
  prepack_pieces(plan, target, weights, threads, out);
}

}  // namespace hone
