// What sessions of include/hone take, as a table.
#pragma once

#include <span>

#include "jobs/run_options.h"

namespace hone::api {

struct SessionFlags : RunFlags {
  int64_t memory_limit = 0;
  hone::SessionOptions session() const;  // with the limit
  static std::span<const OptionField<SessionFlags>> fields();
};

}  // namespace hone::api
