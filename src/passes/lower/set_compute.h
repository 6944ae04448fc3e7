// Options of the pass set_compute.
#pragma once

#include <span>
#include <string>

#include "base/options.h"

namespace hone {

struct SetComputeOptions {
  std::string compute;  // parse_compute()
  static constexpr const char* kPass = "set_compute";
  static std::span<const OptionField<SetComputeOptions>> fields();
};

}  // namespace hone
