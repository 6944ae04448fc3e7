#include "ops/head_rows.h"

#include <array>

#include "base/checked.h"
#include "formats/packed.h"
#include "formats/scale.h"

namespace hone {

std::optional<HeadRows> head_rows(const Format& format, int64_t heads, int64_t columns) {
  constexpr int64_t kVector = 16;  // columns that are read at once start and end in one group
  const Geometry& g = format.geometry;
  const bool by_groups = g.kind == Geometry::Kind::group && (g.axis == -1 || g.axis == 2);
  if (is_plain_float(format) || is_fake_only(format) || scales_per_group(format) > 1) return {};
  if (format.scale_kind->global || is_two_level(format)) return {};
  if (!by_groups && g.kind != Geometry::Kind::none) return {};
  const int64_t row = checked_mul(heads, columns);
  if (columns * format.element.bits % 8 != 0) return {};
  HeadRows rows{.zero_bytes = zero_point_bytes(format)};
  if (by_groups) {
    rows.group = g.columns == 0 || g.columns > row ? row : g.columns;
    const bool holds_heads = rows.group % columns == 0, falls = columns % rows.group == 0 && rows.group % kVector == 0;
    if (row % rows.group != 0 || (!holds_heads && !falls)) return {};
    if (format.scale_kind->code) {
      if (format.scale.bits % 8 != 0) return {};
      rows.scale_bytes = format.scale.bits / 8;
    }
  }
  const PlaneBytes bytes = plane_bytes(format, std::array<int64_t, 2>{1, row});
  rows.row_codes = bytes.codes, rows.row_scales = bytes.scales, rows.row_zeros = bytes.zero_points;
  return rows;
}

}  // namespace hone
