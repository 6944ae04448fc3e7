// What one call of a kernel takes.
#pragma once

#include <cstdint>
#include <string_view>

namespace hone {

// Each device reads the fields that it has a use for. Items are independent: any scheduler may hand them out in any
// pieces, and the result has the same bits.
struct Launch {
  int64_t items = 0;             // pieces of work; a GPU's blocks
  int64_t items_per_chunk = 1;   // that a thread of a CPU takes at a time: about 20 us of work
  int64_t scratch_bytes = 0;     // of each scratch area (Device::scratch_areas()), 64-byte aligned
  int64_t threads_per_item = 1;  // threads that share one item; 1 on a CPU
  int64_t shared_bytes = 0;      // fast memory that these share; 0 on a CPU
  std::string_view name = {};    // of the step, for what a queue says of it; stays until the launch is done
};

}  // namespace hone
