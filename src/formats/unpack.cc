// Decoding: planes to values, whole or in part.
#include <bit>

#include "formats/bits.h"
#include "formats/group_scales.h"
#include "formats/packed.h"
#include "formats/scale.h"

namespace hone {
namespace {

// The value of codes 0 .. 2^W - 1, from the codec's own expression.
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
  Unpacker(const Format& format, const Walk& walk, const PlaneView& planes, int64_t elems)
      : format_(format), walk_(walk), planes_(planes) {
    const ScaleKind& kind = *format.scale_kind;
    if (kind.code) scale_program_ = flatten(kind.value(format, Expr::arg(0, Scalar::u32)));
    const bool multiplies = !kind.code || !kind.restore;
    const int bits = format.element.bits;
    if (multiplies && (bits <= 8 || (bits <= 16 && elems >= int64_t{1} << bits))) {
      const std::vector<double> values = decode_all_codes(format);
      table_.assign(values.begin(), values.end());
    } else {
      program_ = flatten(decoded(format, Expr::arg(0, Scalar::u32), {group_arg(0), group_arg(1), {}}));
    }
  }

  struct Scratch {
    std::vector<uint32_t> codes = std::vector<uint32_t>(Walk::kBatch);
    std::vector<uint32_t> scale_codes;
    std::vector<double> scales, element_scales, element_zeros;
    std::vector<float> values = std::vector<float>(Walk::kBatch);
  };

  // Decodes into scratch.values, in batch order.
  void decode(const Batch& batch, Scratch& scratch) const {
    read_element_codes(batch, scratch.codes.data());
    read_scales(batch, scratch);
    if (!table_.empty()) look_up(batch, scratch);
    else compute(batch, scratch);
  }

  void read_element_codes(const Batch& batch, uint32_t* codes) const {
    for (const Piece& piece : batch.pieces)
      read_codes(planes_.codes.data() + piece.line * walk_.layout().line_bytes, format_.element.bits, piece.begin,
                 {codes + piece.offset, static_cast<size_t>(piece.count)});
  }

 private:
  uint32_t scale_code(int64_t group) const {
    const PackedLayout& p = walk_.layout();
    uint32_t code;
    read_codes(planes_.scales.data() + group / p.groups_per_line * p.scale_line_bytes, format_.scale.bits,
               group % p.groups_per_line, {&code, 1});
    return code;
  }

  double zero_point(int64_t group) const {
    uint32_t zero;
    read_codes(planes_.zero_points.data(), 8 * zero_point_bytes(format_), group, {&zero, 1});
    return zero;
  }

  // One scale per run.
  void read_scales(const Batch& batch, Scratch& scratch) const {
    scratch.scales.assign(batch.runs.size(), 1.0);
    if (!format_.scale_kind->code) return;
    scratch.scale_codes.resize(batch.runs.size());
    for (size_t i = 0; i < batch.runs.size(); ++i) scratch.scale_codes[i] = scale_code(batch.runs[i].group);
    const ConstColumn arg{scratch.scale_codes.data()};
    const MutableColumn result{scratch.scales.data()};
    run_program(scale_program_, {&arg, 1}, static_cast<int64_t>(batch.runs.size()), {&result, 1});
  }

  // Values of codes up to 16 bits and scales are f32 numbers, so one f32 product rounds their exact product once.
  void look_up(const Batch& batch, Scratch& scratch) const {
    const float* const table = table_.data();
    for (size_t r = 0; r < batch.runs.size(); ++r) {
      const Run& run = batch.runs[r];
      const float scale = static_cast<float>(scratch.scales[r]);
      const uint32_t* const codes = scratch.codes.data() + run.begin;
      float* const out = scratch.values.data() + run.begin;
      for (int64_t i = 0; i < run.count; ++i) out[i] = table[codes[i]] * scale;
    }
  }

  void compute(const Batch& batch, Scratch& scratch) const {
    scratch.element_scales.resize(Walk::kBatch);
    scratch.element_zeros.resize(Walk::kBatch);
    const bool has_zero_points = zero_point_bytes(format_) > 0;
    for (size_t r = 0; r < batch.runs.size(); ++r) {
      const Run& run = batch.runs[r];
      std::fill_n(scratch.element_scales.begin() + run.begin, run.count, scratch.scales[r]);
      if (has_zero_points) std::fill_n(scratch.element_zeros.begin() + run.begin, run.count, zero_point(run.group));
    }
    const ConstColumn args[] = {
        {scratch.codes.data()}, {scratch.element_scales.data()}, {scratch.element_zeros.data()}};
    const MutableColumn result{scratch.values.data()};
    run_program(program_, args, batch.elems, {&result, 1});
  }

  const Format& format_;
  const Walk& walk_;
  const PlaneView& planes_;
  std::vector<float> table_;  // empty: run program_
  Program program_, scale_program_;
};

// Batches of the row-major range [begin, end), each with its first element: fn(batch, first).
template <class F>
void for_each_range_batch(const Walk& walk, int64_t begin, int64_t end, F&& fn) {
  Batch batch;
  int64_t first = begin;
  const auto flush = [&] {
    if (batch.elems > 0) fn(static_cast<const Batch&>(batch), first);
    first += batch.elems;
    Walk::clear(batch);
  };
  for (int64_t i = begin; i < end;) {
    const Walk::Place place = walk.locate(i);
    const int64_t count = std::min({place.contiguous, end - i, Walk::kBatch - batch.elems});
    walk.append(batch, place.line, place.position, count);
    i += count;
    if (batch.elems == Walk::kBatch) flush();
  }
  flush();
}

void check_planes(const Format& format, std::span<const int64_t> shape, const PlaneView& planes) {
  const PlaneBytes bytes = plane_bytes(format, shape);
  check_plane("codes", planes.codes, bytes.codes, format);
  check_plane("scales", planes.scales, bytes.scales, format);
  check_plane("zero points", planes.zero_points, bytes.zero_points, format);
  check_plane("the global scale", planes.global, bytes.global, format);
}

}  // namespace

void unpack(const Format& format, std::span<const int64_t> shape, const PlaneView& planes, std::span<float> values) {
  const Walk walk(format, shape);
  CHECK(static_cast<int64_t>(values.size()) == walk.elems());
  check_planes(format, shape, planes);
  const Unpacker unpacker(format, walk, planes, walk.elems());
  for_each_unit(
      walk, [] { return Unpacker::Scratch(); },
      [&](int64_t unit, Unpacker::Scratch& scratch) {
        walk.for_each_batch(walk.unit(unit), [&](const Batch& batch) {
          unpacker.decode(batch, scratch);
          walk.scatter(batch, scratch.values.data(), values);
        });
      });
}

void unpack_range(const Format& format, std::span<const int64_t> shape, const PlaneView& planes, int64_t begin,
                  std::span<float> values) {
  const Walk walk(format, shape);
  const int64_t end = begin + static_cast<int64_t>(values.size());
  CHECK(begin >= 0 && end <= walk.elems());
  check_planes(format, shape, planes);
  const Unpacker unpacker(format, walk, planes, end - begin);
  Unpacker::Scratch scratch;
  for_each_range_batch(walk, begin, end, [&](const Batch& batch, int64_t first) {
    unpacker.decode(batch, scratch);
    std::copy_n(scratch.values.begin(), batch.elems, values.begin() + (first - begin));
  });
}

std::vector<uint32_t> codes_of(const Format& format, std::span<const int64_t> shape, const PlaneView& planes) {
  const Walk walk(format, shape);
  check_planes(format, shape, planes);
  const Unpacker unpacker(format, walk, planes, walk.elems());
  std::vector<uint32_t> codes(static_cast<size_t>(walk.elems()));
  for_each_unit(
      walk, [] { return std::vector<uint32_t>(Walk::kBatch); },
      [&](int64_t unit, std::vector<uint32_t>& scratch) {
        walk.for_each_batch(walk.unit(unit), [&](const Batch& batch) {
          unpacker.read_element_codes(batch, scratch.data());
          walk.scatter(batch, scratch.data(), std::span(codes));
        });
      });
  return codes;
}

std::vector<uint32_t> scale_codes_of(const Format& format, std::span<const int64_t> shape, const PlaneView& planes) {
  const PackedLayout p = packed_layout(format, shape);
  check_planes(format, shape, planes);
  std::vector<uint32_t> codes(static_cast<size_t>(p.groups));
  for (int64_t line = 0; line < p.scale_lines && format.scale.bits > 0; ++line)
    read_codes(planes.scales.data() + line * p.scale_line_bytes, format.scale.bits, 0,
               {codes.data() + line * p.groups_per_line, static_cast<size_t>(p.groups_per_line)});
  return codes;
}

std::vector<double> code_values(const Format& format) {
  CHECK(format.element.bits <= 16, "{} has codes of {} bits", to_string(format), format.element.bits);
  return decode_all_codes(format);
}

std::vector<double> scale_values(const Format& format) {
  CHECK(format.scale.bits <= 16, "{} has scales of {} bits", to_string(format), format.scale.bits);
  if (!format.scale_kind->code) return {1.0};
  return tabulate(format.scale_kind->value(format, Expr::arg(0, Scalar::u32)), format.scale.bits);
}

double scale_value(const Format& format, uint32_t scale_code) {
  if (!format.scale_kind->code) return 1.0;
  const uint64_t arg = scale_code;
  return std::bit_cast<double>(
      evaluate(flatten(format.scale_kind->value(format, Expr::arg(0, Scalar::u32))), {&arg, 1})[0]);
}

}  // namespace hone
