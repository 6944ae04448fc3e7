// Decoding: planes to values, whole or in part.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/float_bits.h"
#include "formats/bits.h"
#include "formats/group_scales.h"
#include "formats/packed.h"
#include "formats/scale.h"

namespace hone {
namespace {

// value(code), an f64 expression of arg 0, for every code of `bits` bits.
std::vector<double> tabulate(const Expr& value, int bits) {
  std::vector<uint32_t> codes(size_t{1} << bits);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint32_t>(i);
  std::vector<double> values(codes.size());
  const ConstColumn arg{codes.data()};
  const MutableColumn result{values.data()};
  run_program(flatten(value), {&arg, 1}, static_cast<int64_t>(codes.size()), {&result, 1});
  return values;
}

std::vector<double> decode_all_codes(const Format& format) {
  return tabulate(format.codec->decode(format.element, Expr::arg(0, Scalar::u32)), format.element.bits);
}

void check_plane(const char* name, std::span<const std::byte> plane, int64_t expected, const Format& format) {
  if (static_cast<int64_t>(plane.size()) == expected) return;
  fail("{}: the plane of {} has {} bytes; this shape needs {}. The file is damaged or was written for another format",
       to_string(format), name, plane.size(), expected);
}

class Unpacker {
 public:
  // `elems`: how many will be decoded, which decides whether a table of all codes pays.
  Unpacker(const Format& format, const BlockTraversal& blocks, const PlaneView& planes, int64_t elems)
      : format_(format), blocks_(blocks), planes_(planes) {
    const ScaleKind& kind = *format.scale_kind;
    if (kind.code) scale_program_ = flatten(stored_scale(Expr::arg(0, Scalar::u32)));
    const bool multiplies = !kind.code || !kind.restore;
    const int bits = format.element.bits;
    if (multiplies && (bits <= 8 || (bits <= 16 && elems >= int64_t{1} << bits))) {
      const std::vector<double> values = decode_all_codes(format);
      table_.assign(values.begin(), values.end());
    } else {
      program_ = flatten(decoded(format, Expr::arg(0, Scalar::u32), group_args(format)));
    }
  }

  struct Scratch {
    std::vector<uint32_t> codes = std::vector<uint32_t>(BlockTraversal::kBatch);
    std::vector<uint32_t> bits;         // of one level
    std::vector<uint32_t> scale_codes;  // scales_per_group of each run
    std::vector<double> scales;
    std::vector<std::vector<double>> columns;  // what element programs read, by element
    std::vector<float> values = std::vector<float>(BlockTraversal::kBatch);
  };

  // Decodes into scratch.values, in batch order.
  void decode(const Batch& batch, Scratch& scratch) const {
    read_element_codes(batch, scratch);
    read_scales(batch, scratch);
    if (!table_.empty()) look_up(batch, scratch);
    else compute(batch, scratch);
  }

  // Into scratch.codes. Residual formats have bit l of every code in plane l.
  void read_element_codes(const Batch& batch, Scratch& scratch) const {
    const PackedLayout& p = blocks_.layout();
    for (const Piece& piece : batch.pieces) {
      const std::byte* from = planes_.codes.data() + piece.line * p.line_bytes;
      const std::span codes(scratch.codes.data() + piece.offset, static_cast<size_t>(piece.count));
      read_codes(from, format_.element.bits / p.code_planes, piece.begin, codes);
      scratch.bits.resize(p.code_planes > 1 ? codes.size() : 0);
      for (int level = 1; level < p.code_planes; ++level) {
        read_codes(from + level * p.padded_lines * p.line_bytes, 1, piece.begin, scratch.bits);
        for (size_t i = 0; i < codes.size(); ++i) codes[i] |= scratch.bits[i] << level;
      }
      if (format_.element.no_code >= 0) refuse_no_code(codes, piece);
    }
  }

 private:
  void refuse_no_code(std::span<const uint32_t> codes, const Piece& piece) const {
    const auto found = std::ranges::find(codes, static_cast<uint32_t>(format_.element.no_code));
    if (found != codes.end())
      fail("{}: code {} of line {} is {}, which stands for no number. The file is damaged", to_string(format_),
           piece.begin + (found - codes.begin()), piece.line, *found);
  }

  // A stored scale as elements read it: times the global scale where there is one; of two levels the integer.
  Expr stored_scale(Expr code) const {
    float global = 0;
    if (format_.scale_kind->global && !planes_.global.empty())
      std::memcpy(&global, planes_.global.data(), sizeof global);
    return effective_scale(format_, format_.scale_kind->value(format_, code), Expr::number(Scalar::f64, global));
  }

  double zero_point(int64_t group) const {
    uint32_t zero;
    read_codes(planes_.zero_points.data(), 8 * zero_point_bytes(format_), group, {&zero, 1});
    return zero;
  }

  // One scale per run and level.
  void read_scales(const Batch& batch, Scratch& scratch) const {
    const PackedLayout& p = blocks_.layout();
    const auto levels = static_cast<size_t>(scales_per_group(format_));
    scratch.scales.assign(batch.runs.size() * std::max<size_t>(levels, 1), 1.0);
    if (levels == 0) return;
    scratch.scale_codes.resize(scratch.scales.size());
    for (size_t i = 0; i < batch.runs.size(); ++i) {
      const int64_t group = batch.runs[i].group, in_line = group % p.groups_per_line;
      read_codes(planes_.scales.data() + group / p.groups_per_line * p.scale_line_bytes, format_.scale.bits,
                 in_line * static_cast<int64_t>(levels), {scratch.scale_codes.data() + i * levels, levels});
    }
    const ConstColumn arg{scratch.scale_codes.data()};
    const MutableColumn result{scratch.scales.data()};
    run_program(scale_program_, {&arg, 1}, static_cast<int64_t>(scratch.scales.size()), {&result, 1});
    if (is_two_level(format_)) multiply_by_outer(batch, levels, scratch.scales);
  }

  void multiply_by_outer(const Batch& batch, size_t levels, std::vector<double>& scales) const {
    std::vector<uint32_t> codes(levels);
    const auto count = static_cast<int64_t>(levels);
    for (size_t r = 0; r < batch.runs.size(); ++r) {
      read_codes(planes_.global.data(), 16, blocks_.layout().super_of(batch.runs[r].group) * count, codes);
      for (size_t l = 0; l < levels; ++l)
        scales[r * levels + l] *= static_cast<double>(f16_to_f32(static_cast<uint16_t>(codes[l])));
    }
  }

  // Values of codes up to 16 bits and scales are f32 numbers, so one f32 product rounds their exact product once. In
  // formats with a minimum it is exact, and the sum is rounded.
  void look_up(const Batch& batch, Scratch& scratch) const {
    const float* const table = table_.data();
    const auto levels = static_cast<size_t>(format_.scale_kind->levels);
    const int sign = format_.scale_kind->minimum_sign;
    for (size_t r = 0; r < batch.runs.size(); ++r) {
      const Run& run = batch.runs[r];
      const float scale = static_cast<float>(scratch.scales[r * levels]);
      const uint32_t* const codes = scratch.codes.data() + run.begin;
      float* const out = scratch.values.data() + run.begin;
      for (int64_t i = 0; i < run.count; ++i) out[i] = table[codes[i]] * scale;
      if (sign == 0) continue;
      const float minimum = static_cast<float>(sign * scratch.scales[r * levels + 1]);
      for (int64_t i = 0; i < run.count; ++i) out[i] += minimum;
    }
  }

  // Columns in the order of group_args().
  void compute(const Batch& batch, Scratch& scratch) const {
    const auto levels = static_cast<size_t>(scales_per_group(format_));
    const bool has_zero_points = zero_point_bytes(format_) > 0;
    scratch.columns.resize(levels + has_zero_points, std::vector<double>(BlockTraversal::kBatch));
    for (size_t r = 0; r < batch.runs.size(); ++r) {
      const Run& run = batch.runs[r];
      const auto fill = [&](size_t column, double value) {
        std::fill_n(scratch.columns[column].begin() + run.begin, run.count, value);
      };
      for (size_t level = 0; level < levels; ++level) fill(level, scratch.scales[r * levels + level]);
      if (has_zero_points) fill(levels, zero_point(run.group));
    }
    std::vector<ConstColumn> args{{scratch.codes.data()}};
    for (const std::vector<double>& column : scratch.columns) args.push_back({column.data()});
    const MutableColumn result{scratch.values.data()};
    run_program(program_, args, batch.elems, {&result, 1});
  }

  const Format& format_;
  const BlockTraversal& blocks_;
  const PlaneView& planes_;
  std::vector<float> table_;  // empty: run program_
  Program program_, scale_program_;
};

// Batches of the row-major range [begin, end), each with its first element: fn(batch, first).
template <class F>
void for_each_range_batch(const BlockTraversal& blocks, int64_t begin, int64_t end, F&& fn) {
  Batch batch;
  int64_t first = begin;
  const auto flush = [&] {
    if (batch.elems > 0) fn(static_cast<const Batch&>(batch), first);
    first += batch.elems;
    BlockTraversal::clear(batch);
  };
  for (int64_t i = begin; i < end;) {
    const BlockTraversal::Place place = blocks.locate(i);
    const int64_t count = std::min({place.contiguous, end - i, BlockTraversal::kBatch - batch.elems});
    blocks.append(batch, place.line, place.position, count);
    i += count;
    if (batch.elems == BlockTraversal::kBatch) flush();
  }
  flush();
}

}  // namespace

void check_planes(const Format& format, std::span<const int64_t> shape, const PlaneView& planes) {
  const PlaneBytes bytes = plane_bytes(format, shape);
  check_plane("codes", planes.codes, bytes.codes, format);
  check_plane("scales", planes.scales, bytes.scales, format);
  check_plane("zero points", planes.zero_points, bytes.zero_points, format);
  check_plane(is_two_level(format) ? "outer scales" : "the global scale", planes.global, bytes.global, format);
}

void unpack(const Format& format, std::span<const int64_t> shape, const PlaneView& planes, std::span<float> values) {
  const BlockTraversal blocks(format, shape);
  CHECK(static_cast<int64_t>(values.size()) == blocks.elems());
  check_planes(format, shape, planes);
  const Unpacker unpacker(format, blocks, planes, blocks.elems());
  for_each_unit(
      blocks, [] { return Unpacker::Scratch(); },
      [&](int64_t unit, Unpacker::Scratch& scratch) {
        blocks.for_each_batch(blocks.unit(unit), [&](const Batch& batch) {
          unpacker.decode(batch, scratch);
          blocks.scatter(batch, scratch.values.data(), values);
        });
      });
}

void unpack_range(const Format& format, std::span<const int64_t> shape, const PlaneView& planes, int64_t begin,
                  std::span<float> values) {
  const BlockTraversal blocks(format, shape);
  const int64_t end = begin + static_cast<int64_t>(values.size());
  CHECK(begin >= 0 && end <= blocks.elems());
  check_planes(format, shape, planes);
  const Unpacker unpacker(format, blocks, planes, end - begin);
  Unpacker::Scratch scratch;
  for_each_range_batch(blocks, begin, end, [&](const Batch& batch, int64_t first) {
    unpacker.decode(batch, scratch);
    std::copy_n(scratch.values.begin(), batch.elems, values.begin() + (first - begin));
  });
}

std::vector<uint32_t> codes_of(const Format& format, std::span<const int64_t> shape, const PlaneView& planes) {
  const BlockTraversal blocks(format, shape);
  check_planes(format, shape, planes);
  const Unpacker unpacker(format, blocks, planes, blocks.elems());
  std::vector<uint32_t> codes(static_cast<size_t>(blocks.elems()));
  for_each_unit(
      blocks, [] { return Unpacker::Scratch(); },
      [&](int64_t unit, Unpacker::Scratch& scratch) {
        blocks.for_each_batch(blocks.unit(unit), [&](const Batch& batch) {
          unpacker.read_element_codes(batch, scratch);
          blocks.scatter(batch, scratch.codes.data(), std::span(codes));
        });
      });
  return codes;
}

std::vector<uint32_t> scale_codes_of(const Format& format, std::span<const int64_t> shape, const PlaneView& planes) {
  const PackedLayout p = packed_layout(format, shape);
  check_planes(format, shape, planes);
  const auto per_line = static_cast<size_t>(p.groups_per_line * scales_per_group(format));
  std::vector<uint32_t> codes(static_cast<size_t>(p.scale_lines) * per_line);
  for (size_t line = 0; line < static_cast<size_t>(p.scale_lines) && per_line > 0; ++line)
    read_codes(planes.scales.data() + line * static_cast<size_t>(p.scale_line_bytes), format.scale.bits, 0,
               {codes.data() + line * per_line, per_line});
  return codes;
}

std::vector<uint32_t> outer_codes_of(const Format& format, std::span<const int64_t> shape, const PlaneView& planes) {
  check_planes(format, shape, planes);
  if (!is_two_level(format)) return {};
  std::vector<uint32_t> codes(planes.global.size() / 2);
  read_codes(planes.global.data(), 16, 0, codes);
  return codes;
}

void check_codes(const Format& format, std::span<const int64_t> shape, const PlaneView& planes) {
  if (format.element.no_code < 0) return;
  const BlockTraversal blocks(format, shape);
  check_planes(format, shape, planes);
  const Unpacker unpacker(format, blocks, planes, blocks.elems());
  for_each_unit(
      blocks, [] { return Unpacker::Scratch(); },
      [&](int64_t unit, Unpacker::Scratch& scratch) {
        blocks.for_each_batch(blocks.unit(unit),
                              [&](const Batch& batch) { unpacker.read_element_codes(batch, scratch); });
      });
}

std::vector<double> code_values(const Format& format) {
  CHECK(format.element.bits <= 16, "{} has codes of {} bits", to_string(format), format.element.bits);
  CHECK(!is_residual(format) && !is_fake_only(format), "codes of {} have no value of their own", to_string(format));
  return decode_all_codes(format);
}

std::vector<double> scale_values(const Format& format) {
  CHECK(format.scale.bits <= 16, "{} has scales of {} bits", to_string(format), format.scale.bits);
  if (!format.scale_kind->code) return {1.0};
  return tabulate(format.scale_kind->value(format, Expr::arg(0, Scalar::u32)), format.scale.bits);
}

std::vector<double> scale_values(const Format& format, std::span<const uint32_t> scale_codes) {
  std::vector<double> values(scale_codes.size(), 1.0);
  if (!format.scale_kind->code) return values;
  const ConstColumn codes{scale_codes.data(), 1};
  const MutableColumn column{values.data()};
  interpret(flatten(format.scale_kind->value(format, Expr::arg(0, Scalar::u32))), {&codes, 1}, 0, std::ssize(values),
            {&column, 1});
  return values;
}

double scale_value(const Format& format, uint32_t scale_code) { return scale_values(format, {&scale_code, 1})[0]; }

}  // namespace hone
