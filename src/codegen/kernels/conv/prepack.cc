#include "codegen/kernels/conv/prepack.h"

#include <cstring>

#include "base/mapped_file.h"
#include "base/threads.h"
#include "codegen/kernels/conv/shape.h"
#include "codegen/kernels/conv/winograd_shape.h"
#include "codegen/kernels/conv/winograd_weights.h"
#include "codegen/kernels/gemm/prepack.h"
#include "passes/weight_matrix.h"

namespace hone {
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
void prepack_winograd(const ConvPlan& plan, const Target& target, const Tensor& weights, int threads, std::byte* out) {
  const WinogradShape shape = winograd_shape(plan, target);
  const int64_t bytes = shape.w->products() * shape.gemm.panel_bytes();
  auto chunk = [&](int64_t begin, int64_t end, int) {
    for (int64_t p = begin; p < end; ++p) transform_weights(*shape.w, shape.gemm, weights, p, out + p * bytes);
  };
  parallel_chunks(shape.gemm.panels(), 1, threads, chunk);
  if (weights.data().is_mapped()) drop_pages(weights.data().bytes());
}

}  // namespace

std::string prepack_key(const ConvPlan& plan, const Target& target) {
  if (plan.method != ConvPlan::Method::direct)
    return fmt::format("{} winograd {}", prepack_key(winograd_product(plan), target),
                       winograd_shape(plan, target).w->piece);
  const ConvShape shape = conv_shape(plan, target);
  return fmt::format("{} segment {} groups {} {}", prepack_key(laid_out_product(plan, target), target), shape.segment,
                     plan.groups, shape.gemm.panel == PanelType::pairs ? "pairs" : "singles");
}

int64_t prepacked_bytes(const ConvPlan& plan, const Target& target) {
  if (plan.method == ConvPlan::Method::direct)
    return plan.groups * prepacked_bytes(laid_out_product(plan, target), target);
  const WinogradShape shape = winograd_shape(plan, target);
  return shape.gemm.panels() * shape.w->products() * shape.gemm.panel_bytes();
}

void prepack(const ConvPlan& plan, const Target& target, const Tensor& weights, int threads, std::byte* out) {
  if (plan.method != ConvPlan::Method::direct) return prepack_winograd(plan, target, weights, threads, out);
  if (weights.shape().size() != 2) {
    const Tensor matrix = *weight_matrix(weights);
    if (weights.data().is_mapped()) drop_pages(weights.data().bytes());
    return prepack(plan, target, matrix, threads, out);
  }
  const GemmPlan product = laid_out_product(plan, target);
  if (plan.groups == 1 && product.k == plan.product.k) return prepack(product, target, weights, threads, out);
  const ConvShape shape = conv_shape(plan, target);
  const GemmShape s = panel_shape(product, target);
  const int64_t room = product.k / (plan.product.k / shape.segment);
  const int64_t bytes = s.panels() * s.panel_bytes();
  for (int64_t g = 0; g < plan.groups; ++g) {
    std::byte* base = out + g * bytes;
    if (weights.is_packed()) {
      lay_out_panels(s, weights, g * product.n, threads, base);
    } else {
      lay_out_panels(s, spread_runs(weights, g * product.n, product.n, shape.segment, room), 0, threads, base);
    }
  }
  drop_source(weights);
}

}  // namespace hone
