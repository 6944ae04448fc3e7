// Products of codes with a scale for each block of K (docs/FORMATS.md, section 11.5).
#include <cmath>

#include "base/threads.h"
#include "formats/codecs.h"
#include "formats/packed.h"
#include "formats/scale.h"
#include "ops/block_products.h"
#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

using Kind = Geometry::Kind;

constexpr int64_t kLongestBlock = 65536;  // 2^16 * 255 * 128 is below 2^31: no sum wraps

bool has_bytes_of_powers(const Format& format) { return format.scale_kind == &pow2_scale && format.scale.bits == 8; }

std::string no_lane_groups(const Geometry& g, int rank) {
  if (g.axis != -1 && g.axis != rank - 1) return "groups along another axis than the last";
  if (g.columns % 4 != 0) return "groups that are no multiple of 4";
  return "";
}

const Format* format_of(const TensorType& type) { return type.format ? &*type.format : nullptr; }

void check_formats(const TensorType& x, const TensorType& w) {
  if (!w.is_packed()) fail("w is {}; accepted: packed integers", to_string(w));
  if (const std::string why = no_block_weights(*w.format); !why.empty()) fail("w is {}: {}", to_string(w), why);
  if (!x.is_packed()) {
    if (x.dtype != DType::i8) fail("x is {}; accepted: i8, or packed integers of 8 bits", to_string(x));
    if (has_scale_of_rows(*w.format)) fail("w is {}, which has no scales of blocks; use linear", to_string(w));
  } else if (const std::string why = no_block_activations(*x.format, static_cast<int>(x.rank())); !why.empty()) {
    fail("x is {}: {}", to_string(x), why);
  }
}

std::vector<TensorType> infer(const InferArgs& a) {
  check_formats(a[0], a[1]);
  if (a[0].rank() < 1) fail("x is a scalar; accepted: [..., K]");
  expect_rank(a[1], 2, 2, "w");
  expect_dim(a[1].shape[1], a[0].shape.back(), "the number of columns of w [N,K], one per column of x [...,K],");
  const Dim& k = a[1].shape[1];
  k_blocks(format_of(a[0]), *a[1].format, k.is_constant() ? k.constant() : 0);
  Shape shape = a[0].shape;
  shape.back() = a[1].shape[0];
  return {plain_type(DType::f32, shape)};
}

std::vector<int32_t> integers_of(const Tensor& x) {
  if (!x.is_packed()) return {x.as<int8_t>().begin(), x.as<int8_t>().end()};
  const ElementParams& e = x.format()->element;
  const uint32_t sign = e.is_signed ? 1u << (e.bits - 1) : 0;
  std::vector<int32_t> integers;
  for (uint32_t code : codes_of(*x.format(), x.shape(), x.planes()))
    integers.push_back(static_cast<int32_t>((code ^ sign) - sign));
  return integers;
}

// The value of the code 1 in each group: scales have at most 24 bits, and fractions are powers of two.
std::vector<float> steps_of(const Tensor& x) {
  const Format& format = *x.format();
  std::vector<float> steps;
  for (double scale : scale_values(format, scale_codes_of(format, x.shape(), x.planes())))
    steps.push_back(static_cast<float>(std::ldexp(scale, -format.element.fraction_bits)));
  return steps;
}

std::vector<Tensor> eval(const EvalArgs& a) {
  const Tensor &x = a[0], &w = a[1];
  const int64_t n = w.dim(0), k = w.dim(1);
  const KBlocks blocks = k_blocks(x.is_packed() ? &*x.format() : nullptr, *w.format(), k);
  std::vector<float> y(static_cast<size_t>(element_count(sizes_of(a.results[0]))));
  if (y.empty() || k == 0) return {Tensor::of<float>(sizes_of(a.results[0]), y)};
  const std::vector<int32_t> qx = integers_of(x), qw = integers_of(w);
  const std::vector<float> sw = steps_of(w), sx = x.is_packed() ? steps_of(x) : std::vector<float>{};
  const auto at = [](int64_t i) { return static_cast<size_t>(i); };
  parallel_for(std::ssize(y) / n, [&](int64_t m) {
    for (int64_t j = 0; j < n; ++j) {
      float& sum = y[at(m * n + j)];
      for (int64_t b = 0; b < blocks.count(); ++b) {
        int32_t products = 0;
        for (int64_t i = b * blocks.length; i < std::min(k, (b + 1) * blocks.length); ++i)
          products += qx[at(m * k + i)] * qw[at(j * k + i)];
        const int64_t own =
            w.format()->geometry.kind == Kind::tensor ? 0 : j * blocks.weight_scales() + b / blocks.per_weight_scale;
        const float step = x.is_packed() ? sx[at(m * blocks.count() + b)] * sw[at(own)] : sw[at(own)];
        sum = std::fma(static_cast<float>(products), step, sum);
      }
    }
  });
  return {Tensor::of<float>(sizes_of(a.results[0]), y)};
}

bool fits_all_sizes(const InferArgs& a, const TensorType&) {
  return a[0].shape.back() == a[1].shape[1] && a[1].shape[1].is_constant();
}

Dim flops(const InferArgs& a) { return 2 * element_count(a[0].shape) * a[1].shape[0]; }

}  // namespace

bool has_scale_of_rows(const Format& w) { return w.geometry.kind != Kind::group; }

std::string no_block_weights(const Format& w) {
  const Geometry& g = w.geometry;
  const bool powers = has_bytes_of_powers(w);
  if (w.codec != &int_codec || w.element.bits > 8 || (!powers && w.scale_kind != &f32_max_scale))
    return "no integers of up to 8 bits with scales of f32, f16, bf16 or powers of two";
  if (w.element.round_floor || is_fake_only(w)) return "no integers that are packed";
  const bool has_rows = g.kind == Kind::tensor || (g.kind == Kind::channel && (g.axis == 0 || g.axis == -2));
  if (!has_rows && g.kind != Kind::group) return "scales of something else than groups, outputs or the tensor";
  return has_rows ? "" : no_lane_groups(g, 2);
}

std::string no_block_activations(const Format& x, int x_rank) {
  if (x.codec != &int_codec || x.element.bits != 8 || !x.element.is_signed || !has_bytes_of_powers(x) ||
      is_fake_only(x))
    return "no integers of 8 bits with powers of two as scales";
  if (x.geometry.kind != Kind::group) return "no groups along the last axis";
  return no_lane_groups(x.geometry, x_rank);
}

KBlocks k_blocks(const Format* x, const Format& w, int64_t k) {
  const bool rows = has_scale_of_rows(w);
  KBlocks blocks{k, std::min(std::max<int64_t>(k, 4), x ? x->geometry.columns : w.geometry.columns)};
  CHECK(blocks.length <= kLongestBlock);
  if (!x) return blocks;
  if (rows) blocks.per_weight_scale = std::max<int64_t>(1, blocks.count());
  else if (w.geometry.columns % x->geometry.columns == 0)
    blocks.per_weight_scale = w.geometry.columns / x->geometry.columns;
  else fail("groups of {} of w are no multiple of groups of {} of x", w.geometry.columns, x->geometry.columns);
  return blocks;
}

extern constinit const OpDef block_linear_def{
    .name = "block_linear",
    .doc =
        "x[...,K] · w[N,K]ᵀ, f32: exact sums of the products of codes over each block of K, times the scales of the "
        "block, added in the order of k. x is packed in groups of 8 bits with powers of two (mxint8), or i8, whose "
        "scales are the caller's; w is packed in groups that are multiples of those of x.",
    .operands = {"x", weight("w")},
    .infer = infer,
    .eval = eval,
    .fits_all_sizes = fits_all_sizes,
    .no_gradient = "codes have no gradient",
    .flops = flops};

}  // namespace hone
