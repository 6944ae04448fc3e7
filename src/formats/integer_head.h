// The head "int<W>" or "uint<W>", shared by fixed point (with fraction bits) and scaled integers (without).
#pragma once

#include <optional>

#include "formats/format_string.h"

namespace hone {

struct IntegerHead {
  bool is_signed;
  int width;
};

inline std::optional<IntegerHead> integer_head(const FormatText& text) {
  if (const std::optional<int> width = text.width_after("int")) return IntegerHead{true, *width};
  if (const std::optional<int> width = text.width_after("uint")) return IntegerHead{false, *width};
  return std::nullopt;
}

}  // namespace hone
