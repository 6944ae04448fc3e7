// The head "<prefix><E>m<M>", shared by minifloat, denorm and bminifloat.
#pragma once

#include <optional>

#include "formats/codecs.h"
#include "formats/format_string.h"

namespace hone {

inline std::optional<ElementParams> minifloat_head(const FormatText& text, std::string_view prefix) {
  const std::optional<std::pair<int, int>> widths = text.exponent_mantissa_after(prefix);
  if (!widths) return std::nullopt;
  const auto [e, m] = *widths;
  text.check_width("the exponent width", e, 2, 7);
  text.check_width("the mantissa width", m, 1, 10);
  text.check_width("the total width 1+E+M", 1 + e + m, 4, 16);
  return minifloat_element(e, m);
}

// ".bias5", or "" for the default.
inline std::string bias_suffix(int bias, int otherwise) {
  return bias == otherwise ? "" : ".bias" + std::to_string(bias);
}

// E_EXACT unless low <= bias <= high, where every code is an f32 number.
inline void check_exact(const FormatText& text, int bias, int low, int high) {
  if (bias >= low && bias <= high) return;
  text.fail_at("E_EXACT", text.position_of(OptionKey::bias),
               fmt::format("bias {} puts codes outside f32; it must be in {}..{}", bias, low, high));
}

}  // namespace hone
