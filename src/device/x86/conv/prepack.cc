#include "device/x86/conv/prepack.h"

#include <algorithm>
#include <cstring>

#include "base/mapped_file.h"
#include "base/multiples.h"
#include "base/threads.h"
#include "device/x86/conv/shape.h"
#include "device/x86/conv/winograd_shape.h"
#include "device/x86/conv/winograd_weights.h"
#include "device/x86/gemm/prepack.h"
#include "ops/conv_weights.h"
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

// The weights of a turned plan as the matrix [groups * n, taps * channels] of what it computes.
template <class T>
Tensor turned_matrix(const ConvPlan& plan, const Tensor& weights, int threads) {
  constexpr int64_t kOutputs = 16;  // rows that are written side by side while channels are read one by one
  const int64_t n = plan.product.n, channels = plan.channels, taps = plan.window.taps();
  Buffer buffer(static_cast<size_t>(plan.groups * n * taps * channels) * sizeof(T));
  const T* from = weights.as<T>().data();
  T* to = reinterpret_cast<T*>(buffer.mutable_bytes().data());
  const int64_t blocks = ceil_div(n, kOutputs);
  auto chunk = [&](int64_t begin, int64_t end, int) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t group = block / blocks, first = block % blocks * kOutputs, last = std::min(n, first + kOutputs);
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t o = first; o < last; ++o)
          for (int64_t tap = 0; tap < taps; ++tap)
            to[((group * n + o) * taps + taps - 1 - tap) * channels + c] =
                from[((group * channels + c) * n + o) * taps + tap];
    }
  };
  parallel_chunks(plan.groups * blocks, 1, threads, chunk);
  return Tensor(weights.dtype(), {plan.groups * n, taps * channels}, std::move(buffer));
}

// Panels [panel, product].
void prepack_winograd(const ConvPlan& plan, const Target& target, const Tensor& weights, int threads, std::byte* out) {
  const WinogradShape shape = winograd_shape(plan, target);
  const int64_t bytes = shape.w->products() * shape.gemm.panel_bytes();
  auto chunk = [&](int64_t begin, int64_t end, int) {
    for (int64_t p = begin; p < end; ++p)
      transform_weights(*shape.w, shape.gemm, weights, plan.turned, p, out + p * bytes);
  };
  parallel_chunks(shape.gemm.panels(), 1, threads, chunk);
  if (weights.data().is_mapped()) drop_pages(weights.data().bytes());
}

void prepack_matrix(const ConvPlan& plan, const Target& target, const Tensor& weights, int threads, std::byte* out) {
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

}  // namespace

std::string prepack_key(const ConvPlan& plan, const Target& target) {
  if (plan.method != ConvPlan::Method::direct)
    return fmt::format("{} winograd {} planes {}{}", prepack_key(winograd_product(plan), target),
                       winograd_shape(plan, target).w->piece, plan.planes, plan.turned ? " turned" : "");
  const ConvShape shape = conv_shape(plan, target);
  return fmt::format("{} segment {} groups {} planes {} {}{}", prepack_key(laid_out_product(plan, target), target),
                     shape.segment, plan.groups, plan.planes,
                     shape.gemm.panel == PanelType::pairs ? "pairs" : "singles", plan.turned ? " turned" : "");
}

int64_t prepacked_bytes(const ConvPlan& plan, const Target& target) {
  if (plan.method == ConvPlan::Method::direct)
    return plan.groups * prepacked_bytes(laid_out_product(plan, target), target);
  const WinogradShape shape = winograd_shape(plan, target);
  return shape.gemm.panels() * shape.w->products() * shape.gemm.panel_bytes();
}

void prepack(const ConvPlan& plan, const Target& target, const Tensor& weights, int threads, std::byte* out) {
  if (plan.planes > 1) {
    ConvPlan one = plan;
    one.planes = 1;
    const Tensor apart = with_planes_apart(weights, plan.planes);
    if (weights.data().is_mapped()) drop_pages(weights.data().bytes());
    return prepack(one, target, apart, threads, out);
  }
  if (plan.method != ConvPlan::Method::direct) return prepack_winograd(plan, target, weights, threads, out);
  const bool is_matrix = weights.shape().size() == 2;
  CHECK(!plan.turned || !is_matrix || plan.window.taps() == 1);  // what a view of one tap's [O,C,1,1] is a view of
  if (is_matrix && !plan.turned) return prepack_matrix(plan, target, weights, threads, out);
  const Tensor matrix = !plan.turned                     ? *weight_matrix(weights)
                        : weights.dtype() == DType::bf16 ? turned_matrix<uint16_t>(plan, weights, threads)
                                                         : turned_matrix<float>(plan, weights, threads);
  if (weights.data().is_mapped()) drop_pages(weights.data().bytes());
  prepack_matrix(plan, target, matrix, threads, out);
}

}  // namespace hone
