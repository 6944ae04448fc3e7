#pragma once

#include "base/any_options.h"

namespace hone {

// Of a sampler or pruner that has none.
struct NoOptions {
  static constexpr const char* kPass = "none";
  static std::span<const OptionField<NoOptions>> fields() { return {}; }
};

}  // namespace hone
