// What fp8, binary and ternary share: no scale by default, and an f32 scale for every part of a geometry that is asked
// for.
#pragma once

#include "formats/format_string.h"
#include "formats/scale.h"

namespace hone {

inline void set_optional_scale(const FormatText& text, const ScaleKind& without, const ScaleKind& with, Format& out) {
  using enum OptionKey;
  const FormatOptions options = read_options(text, {tensor, channel, g, tile, ax, s});
  out.geometry = resolve_geometry(text, options, Geometry{});
  const bool scaled = out.geometry.kind != Geometry::Kind::none;
  if (!scaled && text.has(s))
    text.fail_at("E_CONFLICT", text.position_of(s),
                 "'s' is the type of scales, which need a geometry; add 'tensor', 'channel' or 'g<N>', or drop it");
  out.scale_kind = scaled ? &with : &without;
  if (scaled) out.scale = f32_scale_params(options.scale_type);
}

// ".channel.s=bf16"
inline std::string optional_scale_suffix(const Format& format) {
  return geometry_suffix(format.geometry, Geometry{}) + scale_type_suffix(format.scale.type);
}

}  // namespace hone
