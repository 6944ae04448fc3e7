// NaN and infinities among values that are to be rounded to a format: on-nonfinite = error | saturate | keep.
//   error     the model is refused, with the names of the tensors and how many of their values are not finite
//   saturate  infinities become the largest finite magnitude of their tensor (0 when it has none), with their sign;
//             NaN becomes 0
//   keep      the format decides: a group with one becomes NaN (docs/FORMATS.md, section 3.2)
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/options.h"
#include "ir/tensor.h"

namespace hone {

enum class OnNonfinite : uint8_t { error, saturate, keep };
OnNonfinite parse_on_nonfinite(const std::string& text);  // throws Error

// Options of the pass repair_nonfinite.
struct NonfiniteOptions {
  std::string on_nonfinite = "error";
  static constexpr const char* kPass = "repair_nonfinite";
  static std::span<const OptionField<NonfiniteOptions>> fields();
};

struct NonfiniteCounts {
  int64_t nan = 0, inf = 0;
  int64_t total() const { return nan + inf; }
};
NonfiniteCounts count_nonfinite(std::span<const float> values);

Tensor saturate_nonfinite(const Tensor& tensor);

}  // namespace hone
