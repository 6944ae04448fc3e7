// Encoding: values to planes (pack), and values to values (fake_quantize).
#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>

#include "base/memory_limit.h"
#include "formats/bits.h"
#include "formats/group_scales.h"
#include "formats/packed.h"
#include "formats/scale.h"

namespace hone {
namespace {

using Values = std::span<const float>;

// What `counts` needs besides the code: two flags an element.
Program encode_program(const Format& format, bool with_losses) {
  const Expr t = format.scale_kind->normalise(format, element_arg(), group_args(format));
  const Expr code = format.codec->encode(format.element, t);
  if (!with_losses) return flatten(code);
  const Losses lost = losses(format, t, code);
  const Expr results[] = {code, lost.saturated, lost.flushed_to_zero};
  return flatten(results);
}

// Counts NaN and infinity among the logical elements of a batch.
void count_nonfinite(const Batch& batch, std::span<const float> x, EncodeCounts& counts) {
  for (const Run& run : batch.runs)
    for (int64_t i = run.begin; i < run.begin + run.logical; ++i) {
      counts.nan += std::isnan(x[static_cast<size_t>(i)]);
      counts.inf += std::isinf(x[static_cast<size_t>(i)]);
    }
}

void fill_nonfinite(const Batch& batch, std::span<float> x, const std::vector<uint8_t>& nonfinite, float value) {
  if (nonfinite.empty()) return;
  for (const Run& run : batch.runs)
    if (nonfinite[static_cast<size_t>(run.group)]) std::fill_n(x.begin() + run.begin, run.count, value);
}

size_t code_bytes(const PackedLayout& p) { return static_cast<size_t>(p.padded_lines * p.line_bytes * p.code_planes); }

// Residual formats store bit l of every code in plane l.
void store_codes(const Format& format, const BlockTraversal& blocks, const Piece& piece,
                 std::span<const uint32_t> batch_codes, std::span<std::byte> plane) {
  const PackedLayout& p = blocks.layout();
  const std::span codes = batch_codes.subspan(static_cast<size_t>(piece.offset), static_cast<size_t>(piece.count));
  const int width = format.element.bits / p.code_planes;
  std::byte* to = plane.data() + piece.line * p.line_bytes + piece.begin * width / 8;
  if (p.code_planes == 1) return write_codes(to, width, codes);
  std::vector<uint32_t> bits(codes.size());
  for (int level = 0; level < p.code_planes; ++level, to += p.padded_lines * p.line_bytes) {
    std::ranges::transform(codes, bits.begin(), [&](uint32_t code) { return code >> level & 1; });
    write_codes(to, 1, bits);
  }
}

std::vector<std::byte> scale_plane(const Format& format, const BlockTraversal& blocks,
                                   std::span<const uint32_t> codes) {
  if (codes.empty()) return {};
  const PackedLayout& p = blocks.layout();
  std::vector<std::byte> plane(static_cast<size_t>(p.scale_lines * p.scale_line_bytes));
  const auto per_line = static_cast<size_t>(p.groups_per_line * scales_per_group(format));
  for (size_t line = 0; line < static_cast<size_t>(p.scale_lines); ++line)
    write_codes(plane.data() + line * static_cast<size_t>(p.scale_line_bytes), format.scale.bits,
                codes.subspan(line * per_line, per_line));
  return plane;
}

std::vector<std::byte> global_plane(const Format& format, float scale, std::span<const uint32_t> outer_codes) {
  if (is_two_level(format)) {
    std::vector<std::byte> plane(outer_codes.size() * 2);
    write_codes(plane.data(), 16, outer_codes);
    return plane;
  }
  const GlobalValue* const global = format.scale_kind->global;
  if (!global || !global->is_scale) return {};
  const auto bytes = std::as_bytes(std::span(&scale, 1));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> zero_point_plane(const Format& format, std::span<const uint32_t> zero_points) {
  const int bytes = zero_point_bytes(format);
  std::vector<std::byte> plane(zero_points.size() * static_cast<size_t>(bytes));
  if (bytes > 0) write_codes(plane.data(), 8 * bytes, zero_points);
  return plane;
}

class Packer {
 public:
  Packer(const Format& format, const BlockTraversal& blocks, Values values, EncodeCounts* counts)
      : format_(format), blocks_(blocks), values_(values), counts_(counts), program_(encode_program(format, counts)) {}

  Planes run(GroupScales scales) {
    planes_.codes.resize(code_bytes(blocks_.layout()));
    scales_ = std::move(scales);
    columns_ = scales_.columns(program_);
    for_each_unit(
        blocks_, [&] { return Scratch{BatchInputs(columns_)}; },
        [&](int64_t unit, Scratch& scratch) { pack_unit(unit, scratch); });
    planes_.scales = scale_plane(format_, blocks_, scales_.codes);
    planes_.zero_points = zero_point_plane(format_, scales_.zero_points);
    planes_.global = global_plane(format_, scales_.global, scales_.outer_codes);
    return std::move(planes_);
  }

 private:
  struct Scratch {
    BatchInputs inputs;
    std::vector<uint32_t> codes = std::vector<uint32_t>(BlockTraversal::kBatch);
    std::vector<uint8_t> saturated = std::vector<uint8_t>(BlockTraversal::kBatch);
    std::vector<uint8_t> flushed = std::vector<uint8_t>(BlockTraversal::kBatch);
  };

  void pack_unit(int64_t unit, Scratch& scratch) {
    EncodeCounts counts;
    blocks_.for_each_batch(blocks_.unit(unit), [&](const Batch& batch) { pack_batch(batch, scratch, counts); });
    if (!counts_) return;
    std::lock_guard lock(counts_mutex_);
    counts_->nan += counts.nan, counts_->inf += counts.inf;
    counts_->saturated += counts.saturated, counts_->flushed_to_zero += counts.flushed_to_zero;
  }

  void pack_batch(const Batch& batch, Scratch& scratch, EncodeCounts& counts) {
    BatchInputs& inputs = scratch.inputs;
    inputs.load(blocks_, batch, values_);
    if (any_nonfinite(inputs.x().first(static_cast<size_t>(batch.elems)))) count_nonfinite(batch, inputs.x(), counts);
    fill_nonfinite(batch, inputs.x(), scales_.nonfinite, 0);  // what makes a group nonfinite may lie in another batch
    const MutableColumn results[] = {{scratch.codes.data()}, {scratch.saturated.data()}, {scratch.flushed.data()}};
    run_program(program_, inputs.args(), batch.elems, std::span(results).first(program_.results.size()));
    if (zero_needs_another_code(format_)) clear_codes(batch, scratch.codes);
    for (const Piece& piece : batch.pieces) store_codes(format_, blocks_, piece, scratch.codes, planes_.codes);
    if (!counts_) return;
    for (const Run& run : batch.runs)
      for (int64_t i = run.begin; i < run.begin + run.logical; ++i) {
        counts.saturated += scratch.saturated[static_cast<size_t>(i)];
        counts.flushed_to_zero += scratch.flushed[static_cast<size_t>(i)];
      }
  }

  // Of zeros that were put in place of padding and of groups with NaN.
  void clear_codes(const Batch& batch, std::span<uint32_t> codes) const {
    for (const Run& run : batch.runs) {
      const int64_t kept = scales_.nonfinite[static_cast<size_t>(run.group)] ? 0 : run.logical;
      std::fill_n(codes.begin() + run.begin + kept, run.count - kept, 0u);
    }
  }

  const Format& format_;
  const BlockTraversal& blocks_;
  Values values_;
  EncodeCounts* counts_;
  std::mutex counts_mutex_;
  Program program_;
  GroupScales scales_;
  std::vector<GroupColumn> columns_;
  Planes planes_;
};

}  // namespace

Planes pack(const Format& format, std::span<const int64_t> shape, Values values, EncodeCounts* counts) {
  const BlockTraversal blocks(format, shape);
  CHECK(static_cast<int64_t>(values.size()) == blocks.elems());
  require_memory(plane_bytes(format, shape).total(), "packing");  // which refuses formats that only quantize values
  if (counts) *counts = {};
  return Packer(format, blocks, values, counts).run(choose_scales(format, blocks, values));
}

Planes pack(const Format& format, const BlockTraversal& blocks, Values values, GroupScales scales) {
  return Packer(format, blocks, values, nullptr).run(std::move(scales));
}

Planes planes_of(const Format& format, std::span<const int64_t> shape, std::span<const uint32_t> codes,
                 std::span<const uint32_t> scale_codes, std::span<const uint32_t> zero_points, float global_scale,
                 std::span<const uint32_t> outer_codes) {
  const BlockTraversal blocks(format, shape);
  const PackedLayout& p = blocks.layout();
  CHECK(static_cast<int64_t>(codes.size()) == blocks.elems());
  CHECK(static_cast<int64_t>(scale_codes.size()) == p.groups * scales_per_group(format));
  CHECK(static_cast<int64_t>(zero_points.size()) == (format.scale_kind->zero_point ? p.groups : 0));
  CHECK(static_cast<int64_t>(outer_codes.size()) == p.supers() * scales_per_group(format));
  Planes planes{.codes = std::vector<std::byte>(code_bytes(p)),
                .scales = scale_plane(format, blocks, scale_codes),
                .zero_points = zero_point_plane(format, zero_points),
                .global = global_plane(format, global_scale, outer_codes)};
  for_each_unit(
      blocks, [] { return std::vector<uint32_t>(BlockTraversal::kBatch); },
      [&](int64_t unit, std::vector<uint32_t>& scratch) {
        blocks.for_each_batch(blocks.unit(unit), [&](const Batch& batch) {
          blocks.gather(batch, codes, scratch.data());
          if (!zero_points.empty())  // padding decodes to 0
            for (const Run& run : batch.runs)
              std::fill(scratch.begin() + run.begin + run.logical, scratch.begin() + run.begin + run.count,
                        zero_points[static_cast<size_t>(run.group)]);
          for (const Piece& piece : batch.pieces) store_codes(format, blocks, piece, scratch, planes.codes);
        });
      });
  return planes;
}

void fake_quantize(const Format& format, std::span<const int64_t> shape, Values values, std::span<float> out) {
  const BlockTraversal blocks(format, shape);
  CHECK(static_cast<int64_t>(values.size()) == blocks.elems() && values.size() == out.size());
  const GroupScales scales = choose_scales(format, blocks, values);
  const Program program = flatten(fake(format, element_arg(), group_args(format)));
  const std::vector<GroupColumn> columns = scales.columns(program);
  struct Scratch {
    BatchInputs inputs;
    std::vector<float> y = std::vector<float>(BlockTraversal::kBatch);
  };
  for_each_unit(
      blocks, [&] { return Scratch{BatchInputs(columns)}; },
      [&](int64_t unit, Scratch& scratch) {
        blocks.for_each_batch(blocks.unit(unit), [&](const Batch& batch) {
          scratch.inputs.load(blocks, batch, values);
          const MutableColumn result{scratch.y.data()};
          run_program(program, scratch.inputs.args(), batch.elems, {&result, 1});
          fill_nonfinite(batch, scratch.y, scales.nonfinite, std::nanf(""));
          blocks.scatter(batch, scratch.y.data(), out);
        });
      });
}

}  // namespace hone
