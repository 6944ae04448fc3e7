#include "formats/packed.h"

#include "base/checked.h"
#include "formats/block_traversal.h"
#include "formats/scale.h"

namespace hone {

PackedLayout packed_layout(const Format& format, std::span<const int64_t> shape) {
  return BlockTraversal(format, shape).layout();
}

int zero_point_bytes(const Format& format) {
  if (!format.scale_kind->zero_point) return 0;
  return format.element.bits <= 8 ? 1 : 2;
}

bool zero_needs_another_code(const Format& format) {
  return is_residual(format) || has_minimum(format) || format.element.table;
}

int scales_per_group(const Format& format) { return format.scale_kind->code ? format.scale_kind->levels : 0; }

PlaneBytes plane_bytes(const Format& format, std::span<const int64_t> shape) {
  if (is_fake_only(format)) {
    const std::string text = to_string(format);
    throw FormatError("E_FAKE_ONLY", text, text.find("compat="),
                      "a reproduction of values, which has no codes to store; leave the option out for the format that "
                      "packs, or use it in fake_quant");
  }
  const PackedLayout p = packed_layout(format, shape);
  const GlobalValue* const global = format.scale_kind->global;
  return {.codes = p.padded_lines * p.line_bytes * p.code_planes,
          .scales = p.scale_lines * p.scale_line_bytes,
          .zero_points = p.groups * zero_point_bytes(format),
          .global = global && global->is_scale ? 4 : checked_mul(p.supers(), 2 * scales_per_group(format))};
}

}  // namespace hone
