#include "formats/packed.h"

#include "formats/scale.h"
#include "formats/walk.h"

namespace hone {

PackedLayout packed_layout(const Format& format, std::span<const int64_t> shape) {
  return Walk(format, shape).layout();
}

int zero_point_bytes(const Format& format) {
  if (!format.scale_kind->zero_point) return 0;
  return format.element.bits <= 8 ? 1 : 2;
}

PlaneBytes plane_bytes(const Format& format, std::span<const int64_t> shape) {
  const PackedLayout p = packed_layout(format, shape);
  return {.codes = p.padded_lines * p.line_bytes,
          .scales = p.scale_lines * p.scale_line_bytes,
          .zero_points = p.groups * zero_point_bytes(format)};
}

}  // namespace hone
