// Packing by the reference rules (docs/FORMATS.md, sections 3.4 and 3.5): planes of codes, scales, zero points and
// global scales: one of the tensor, or the outer scales of two-level formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "formats/format.h"

namespace hone {

// How a shape falls into lines and groups for a format. A line is a run of codes that starts on a byte.
struct PackedLayout {
  int64_t lines = 0, line_elems = 0;           // logical
  int64_t padded_lines = 0, padded_elems = 0;  // stored, padding included
  int64_t line_bytes = 0;                      // of codes, in one plane of codes
  int code_planes = 1;                         // residual formats: one plane of one-bit codes a level
  int64_t groups = 0, group_elems = 0;         // groups in all; logical elements of a full group
  int64_t groups_per_line = 0;  // geometry group: along the line; tile: per row of tiles; otherwise 1 (channel) or 0
  int64_t scale_lines = 0, scale_line_bytes = 0;
  int64_t groups_per_super = 0, supers_per_line = 0;  // two-level scales: groups of a super-block, and those of a line
  int64_t supers() const { return scale_lines * supers_per_line; }
  int64_t super_of(int64_t group) const {
    return group / groups_per_line * supers_per_line + group % groups_per_line / groups_per_super;
  }
};
int scales_per_group(const Format& format);  // rsign<R>: R; with a minimum: 2; 0 without scales; otherwise 1
PackedLayout packed_layout(const Format& format, std::span<const int64_t> shape);  // throws FormatError E_AXIS

struct PlaneBytes {
  int64_t codes = 0, scales = 0, zero_points = 0, global = 0;
  int64_t total() const { return codes + scales + zero_points + global; }
};
PlaneBytes plane_bytes(const Format& format, std::span<const int64_t> shape);  // throws FormatError E_FAKE_ONLY

struct Planes {
  std::vector<std::byte> codes, scales, zero_points, global;
};
struct PlaneView {
  std::span<const std::byte> codes, scales, zero_points, global;
};
// Throws Error when a plane has another size than the shape asks for.
void check_planes(const Format& format, std::span<const int64_t> shape, const PlaneView& planes);

// What encoding could not represent. saturated: finite and half a step or more beyond the largest (smallest) code;
// flushed_to_zero: not zero before, zero after, and not saturated.
struct EncodeCounts {
  int64_t nan = 0, inf = 0, saturated = 0, flushed_to_zero = 0;
};

// values: row-major elements of `shape`. Runs on all hardware threads; the result does not depend on their number.
Planes pack(const Format& format, std::span<const int64_t> shape, std::span<const float> values,
            EncodeCounts* counts = nullptr);
void unpack(const Format& format, std::span<const int64_t> shape, const PlaneView& planes, std::span<float> values);

// Elements [begin, begin + values.size()) in row-major order; equals that part of unpack().
void unpack_range(const Format& format, std::span<const int64_t> shape, const PlaneView& planes, int64_t begin,
                  std::span<float> values);

// unpack(pack(values)) except that NaN stays NaN in every format (FORMATS 3.2).
void fake_quantize(const Format& format, std::span<const int64_t> shape, std::span<const float> values,
                   std::span<float> out);

// One code per element / scales_per_group codes per group in storage order (what golden files and `hone cast --codes`
// show).
std::vector<uint32_t> codes_of(const Format& format, std::span<const int64_t> shape, const PlaneView& planes);
std::vector<uint32_t> scale_codes_of(const Format& format, std::span<const int64_t> shape, const PlaneView& planes);
// The fp16 patterns of outer scales, scales_per_group of each super-block; empty of other than two-level formats.
std::vector<uint32_t> outer_codes_of(const Format& format, std::span<const int64_t> shape, const PlaneView& planes);

// The planes with these codes, one per element in row-major order, and these scale codes, zero points and outer scales
// of all groups (empty where the format has none): the inverse of codes_of, scale_codes_of and outer_codes_of.
Planes planes_of(const Format& format, std::span<const int64_t> shape, std::span<const uint32_t> codes,
                 std::span<const uint32_t> scale_codes, std::span<const uint32_t> zero_points, float global_scale = 0,
                 std::span<const uint32_t> outer_codes = {});

// Throws when a code stands for nothing, which only ternary has; all readers of codes do.
void check_codes(const Format& format, std::span<const int64_t> shape, const PlaneView& planes);

// For kernels: the exact value of every code without scale (at most 16 bits wide; not for residual formats), and the
// exact value of a stored scale. With a global scale (nvfp4) the scale of a group is fl32(scale_value * global scale),
// with outer ones scale_value times that of the super-block, which is exact.
std::vector<double> code_values(const Format& format);
double scale_value(const Format& format, uint32_t scale_code);
std::vector<double> scale_values(const Format& format, std::span<const uint32_t> scale_codes);
std::vector<double> scale_values(const Format& format);  // of every code (at most 16 bits wide); {1} without scales

}  // namespace hone
