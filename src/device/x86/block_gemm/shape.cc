#include "device/x86/block_gemm/shape.h"

#include <algorithm>
#include <cmath>

#include "device/x86/amx/tile_rules.h"
#include "formats/scale.h"

namespace hone {
namespace {

DType scale_dtype(const Format& w) {
  if (w.scale_kind == &pow2_scale) return DType::f8e8m0;
  return w.scale.type == ScaleType::f32 ? DType::f32 : w.scale.type == ScaleType::bf16 ? DType::bf16 : DType::f16;
}

// Beside both kinds of sums: W and one of A; words are taken apart, by a mask, into what is multiplied.
int most_rows(const BlockGemmShape& s, bool avx512) {
  const int free = (avx512 ? 31 : 15) - (s.dot ? 1 : 2) * s.vectors;
  return std::clamp(free / (2 * s.vectors), 1, 6);
}

}  // namespace

int64_t BlockGemmShape::scales_offset() const {
  const int64_t whole = blocks.k / blocks.length, rest = blocks.k % blocks.length;
  return (whole * code_rows(blocks.length) + code_rows(rest)) * row_bytes();
}

// An odd number of lines, so that rows fall on different sets of a cache.
int64_t BlockGemmShape::a_row_bytes() const {
  const int64_t lines = ceil_div(steps_offset() + (x_scales ? blocks.count() * 4 : 0), int64_t{64});
  return (lines | 1) * 64;
}

int64_t BlockGemmShape::block_rows(int64_t m) const {
  const int64_t most = tiles ? 256 : 128, parts = std::max<int64_t>(1, (m + most / 2) / most);
  return round_up(ceil_div(std::max<int64_t>(m, 1), parts), 8);
}

// A part of a panel that stays in the first-level cache.
GemmShape BlockGemmShape::tile_shape() const {
  constexpr int64_t kSteps = 18;
  GemmShape s;
  s.n = n, s.k = tile_k();
  s.lanes = lanes, s.vectors = vectors, s.rows = kTileStripRows;
  s.unit = ProductUnit::bf16_tiles, s.a = DType::bf16;
  s.source = ActivationPanels{.block_k = std::min(s.k, kSteps * kTileK), .adds_blocks = true};
  return s;
}

int64_t BlockGemmShape::scratch_bytes(int64_t rows) const {
  if (!tiles) return rows * a_row_bytes();
  return rows * (a_row_bytes() + tile_row_bytes() + row_bytes()) + tile_shape().unpacked_bytes();
}

BlockGemmShape block_gemm_shape(const X86BlockGemmPlan& plan, const X86Target& target, int shrink) {
  const Format w = parse_format(plan.w_format);
  const std::optional<Format> x = plan.x_format.empty() ? std::nullopt : std::optional(parse_format(plan.x_format));
  BlockGemmShape s;
  s.n = plan.n;
  s.blocks = k_blocks(x ? &*x : nullptr, w, plan.k);
  s.lanes = target.lanes(), s.vectors = plan.n > s.lanes ? 2 : 1;
  s.dot = target.byte_unit() != nullptr;
  s.halves = w.element.bits <= 4;
  s.offset = w.element.is_signed ? 1 << (w.element.bits - 1) : 0;
  s.scale = scale_dtype(w);
  s.shared_scale = w.geometry.kind == Geometry::Kind::tensor;
  s.x_scales = x.has_value();
  s.unit = std::ldexp(1.0, -w.element.fraction_bits - (x ? x->element.fraction_bits : 0));
  s.rows = std::max(1, most_rows(s, target.avx512()) - shrink);
  s.powers = s.x_scales && s.scale == DType::f8e8m0 && s.blocks.length == kTileK;
  s.tiles = plan.by_tiles && tiles_can(s, target);
  return s;
}

Support block_gemm_support(const X86BlockGemmPlan& plan, const X86Target&) {
  if (plan.n < 1 || plan.k < 1) return {"a product without elements"};
  if (plan.results.empty() ||
      plan.results.size() + plan.operands.size() + 3 > std::tuple_size_v<decltype(KernelArgs::pointers)>)
    return {fmt::format("{} operands and {} results", plan.operands.size(), plan.results.size())};
  const Format w = parse_format(plan.w_format);
  if (const std::string why = no_block_weights(w); !why.empty()) return {fmt::format("{}: {}", plan.w_format, why)};
  if (plan.x_format.empty()) return {};
  const std::string why = no_block_activations(parse_format(plan.x_format), 2);
  return why.empty() ? Support{} : Support{fmt::format("{}: {}", plan.x_format, why)};
}

}  // namespace hone
