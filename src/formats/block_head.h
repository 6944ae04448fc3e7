// What bfp, bminifloat and blog share: a power of two of e bits for every 16 elements or any other geometry.
#pragma once

#include <fmt/format.h>

#include "formats/format_string.h"
#include "formats/scale.h"

namespace hone {

inline constexpr Geometry kBlockOf16{.kind = Geometry::Kind::group, .columns = 16};
inline constexpr int kBlockExponentBits = 8;

// Scale and geometry from `options`; `otherwise` is the rule when none is given.
inline void set_block(const FormatText& text, const FormatOptions& options, ScaleRule otherwise, Format& out) {
  out.scale_kind = &pow2_scale;
  out.scale = pow2_scale_params(options.e.value_or(kBlockExponentBits), options.rule.value_or(otherwise));
  out.geometry = resolve_geometry(text, options, kBlockOf16);
}

// ".g64.e6"
inline std::string block_suffix(const Format& format) {
  const int e = format.scale.bits;
  return geometry_suffix(format.geometry, kBlockOf16) + (e == kBlockExponentBits ? "" : fmt::format(".e{}", e));
}

}  // namespace hone
